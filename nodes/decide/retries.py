"""Whether a failed try is worth another one, and after how long."""

from dataclasses import dataclass

MIN_JITTER = 0.5


@dataclass(frozen=True)
class Backoff:
    """Exponential waits. `base` and `cap` are seconds; `limit` is the longest Retry-After obeyed."""

    attempts: int
    base: float
    factor: float
    cap: float
    limit: float


def wait_before_retry(
    backoff: Backoff, tries: int, *, retry_after: float | None, jitter: float
) -> float | None:
    """Seconds to wait after `tries` soft failures, or None when there is no further try.

    Args:
        backoff: The step's limits.
        tries: Tries made so far in this process, at least 1.
        retry_after: What the server asked for, in seconds. It is never undercut; when it asks for
            more than `backoff.limit` the step fails now instead of holding the run.
        jitter: A random number in [0, 1), so that parallel steps do not come back together.
    """
    if tries >= backoff.attempts or (retry_after is not None and retry_after > backoff.limit):
        return None
    full = min(backoff.base * backoff.factor ** (tries - 1), backoff.cap)
    jittered: float = full * (MIN_JITTER + (1 - MIN_JITTER) * jitter)
    return max(jittered, retry_after or 0.0)
