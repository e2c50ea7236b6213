"""Whether a failed try is worth another one, and after how long."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.decide.retries import Backoff, wait_before_retry

SECONDS = st.floats(0, 1000, allow_nan=False)
BACKOFFS = st.builds(Backoff, st.integers(1, 6), SECONDS, st.floats(1, 4), SECONDS, SECONDS)
JITTER = st.floats(0, 1, exclude_max=True)


@given(BACKOFFS, st.integers(1, 8), st.none() | SECONDS, JITTER)
def test_waits_stay_within_the_cap_or_what_the_server_asked_for(
    backoff: Backoff, tries: int, retry_after: float | None, jitter: float
) -> None:
    wait = wait_before_retry(backoff, tries, retry_after=retry_after, jitter=jitter)

    over = tries >= backoff.attempts
    too_long = retry_after is not None and retry_after > backoff.limit
    assert (wait is None) is (over or too_long)
    if wait is not None:
        assert wait >= (retry_after or 0)
        assert wait <= max(backoff.cap, retry_after or 0)


@given(st.integers(1, 200), JITTER)
def test_waits_grow_up_to_the_cap_and_are_never_less_than_half_of_it(tries: int, jitter: float) -> None:
    backoff = Backoff(attempts=1000, base=1, factor=2, cap=20, limit=60)
    full = min(2.0 ** (tries - 1), 20)

    wait = wait_before_retry(backoff, tries, retry_after=None, jitter=jitter)

    assert wait is not None
    assert full / 2 <= wait <= full


def test_many_tries_do_not_overflow() -> None:
    backoff = Backoff(attempts=5000, base=1, factor=2, cap=20, limit=60)
    assert wait_before_retry(backoff, 4000, retry_after=None, jitter=0) == 10
