"""What one attempt of a tool call came to."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from graph.plan import JSON

FailureKind = Literal["hard", "soft", "unknown"]


@dataclass(frozen=True, slots=True)
class CallSucceeded:
    """The tool answered.

    `output` is fresh JSON data that satisfies the policy's output schema.
    """

    output: JSON


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The attempt failed.

    `kind` says what may follow: "hard" no retry, "soft" a retry after backoff, at the earliest after
    `retry_after` seconds where the service named them, "unknown" neither, for the write may have happened.
    `message` is never empty and at most 500 characters; secrets are taken out of it. `nothing_happened` says
    that the call surely changed nothing: the tool or the service said so, or it was not made.
    """

    kind: FailureKind
    code: str
    message: str
    retry_after: float | None = None
    nothing_happened: bool = field(default=False, compare=False)


CallOutcome: TypeAlias = CallSucceeded | CallFailed
