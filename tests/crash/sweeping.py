"""A sweep over one kind of errand: runs that are killed and gone on with, each held to the same promises."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.crash.conftest import Killable, Runs, Swept

STRIPES = 2

by_stripe = pytest.mark.parametrize("stripe", range(STRIPES))
with_keys_and_without = pytest.mark.parametrize("idempotent", [True, False], ids=["with keys", "without"])


@dataclass(frozen=True)
class Sweep:
    """A kind of errand, what each of its runs must keep to, and what is due where writes have no keys."""

    kind: str
    nothing_lost_nothing_twice: Callable[[Killable, dict[str, Any]], None]
    doubt_is_told: Callable[[dict[str, Any]], None]

    def at_each_boundary(self, runs: Runs, stripe: int, *, idempotent: bool, beyond: int) -> list[Swept]:
        """Kill a run at each boundary, of which there are more than `beyond`; in doubt only without keys."""
        swept = self._held(
            runs.killed_at_each_boundary(self.kind, idempotent=idempotent, stripe=stripe, stripes=STRIPES)
        )
        assert swept[-1].boundary > beyond
        assert any(each.result["first"]["pending"] for each in swept) is not idempotent
        return swept

    def again_and_again(self, runs: Runs, *, idempotent: bool, seed: int, times: int, latest: int) -> None:
        """Kill so many runs four times each, at boundaries drawn up to `latest`."""
        self._held(
            runs.killed_again_and_again(
                self.kind, idempotent=idempotent, seed=seed, times=times, latest=latest
            )
        )

    def _held(self, swept: Iterable[Swept]) -> list[Swept]:
        held = []
        for each in swept:
            self.nothing_lost_nothing_twice(each.run, each.result)
            if not each.run.idempotent:
                self.doubt_is_told(each.result)
            held.append(each)
        return held
