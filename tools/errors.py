"""What a tool raises to say how it failed, and what declaring tools can go wrong with."""

from graph.plan import PlanrailError


class HardToolError(PlanrailError):
    """The call cannot succeed however often it is made: not found, refused, invalid, in conflict.

    Never retried. `code` is this error's own, such as "order_not_found", and is kept in the record.
    """

    code = "hard_tool_error"

    def __init__(self, code: str, message: str) -> None:
        """Give the failure its stable code and a sentence for people.

        Args:
            code: Short snake_case word for programs.
            message: What is wrong and, where known, what would help.
        """
        super().__init__(message)
        self.code = code  # type: ignore[misc]  # each instance carries the code its tool chose


class SoftToolError(PlanrailError):
    """The call did nothing and may be made again later: busy, rate limited, not available now.

    Retried with backoff even when the tool is a write that is not idempotent: raising it is the tool's
    word that nothing happened.
    """

    code = "soft_tool_error"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """Say why now is a bad moment.

        Args:
            message: What was not available.
            retry_after: Seconds to wait before the next attempt, when the service named them.
        """
        super().__init__(message)
        self.retry_after = retry_after


class OutcomeUnknown(PlanrailError):  # noqa: N818 - it reports a state of knowledge, not a fault
    """The write was sent and nobody can say whether it happened. Never retried."""

    code = "outcome_unknown"


class ToolSetupError(PlanrailError):
    """A tool or its policy is declared in a way that cannot work; raised while the program is set up."""

    code = "invalid_tool"


class ToolLoadError(PlanrailError):
    """`MODULE[:ATTR]` does not lead to tools."""

    code = "tool_load"


class UnsupportedResult(PlanrailError):  # noqa: N818 - named after what the step record then says
    """A tool returned something that has no JSON form."""

    code = "unsupported_result"
