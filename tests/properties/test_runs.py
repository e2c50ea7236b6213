"""Random plans, whole: what comes out is what a serial run would give."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.durable import Memory
from tests.properties.harness import Fault, Harness, finish
from tests.properties.reference import Reference
from tests.properties.specs import Spec, specs

QUIET = settings(
    deadline=None,
    phases=(
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
        Phase.shrink,
    ),  # explaining traces every line: too slow here
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
FAULTS = st.one_of(
    st.builds(Fault, st.just("kill"), st.integers(1, 60)),
    st.builds(Fault, st.sampled_from(["cancel", "drain"]), st.integers(1, 8)),
)


def _drive(
    steps: tuple[Spec, ...], data: Any, *, faults: list[Fault], concurrency: int, scheduling: str
) -> Harness:
    harness = Harness(steps, Memory(), max_concurrency=concurrency, scheduling=scheduling)
    left = list(faults)
    asyncio.run(
        finish(
            harness,
            Reference(steps),
            lambda ids: data.draw(st.sampled_from(ids)),
            lambda: left.pop() if left else Fault(),
        )
    )
    return harness


@settings(QUIET, max_examples=60)
@given(specs(), st.data(), st.integers(1, 4), st.sampled_from(["lanes", "layered"]))
def test_an_undisturbed_run_ends_as_a_serial_one(
    steps: tuple[Spec, ...], data: st.DataObject, concurrency: int, scheduling: str
) -> None:
    _drive(steps, data, faults=[], concurrency=concurrency, scheduling=scheduling)


@settings(QUIET, max_examples=100)
@given(specs(max_steps=9), st.data(), st.integers(1, 4), st.lists(FAULTS, max_size=6))
def test_a_run_that_is_interrupted_anywhere_ends_as_if_it_had_not_been(
    steps: tuple[Spec, ...], data: st.DataObject, concurrency: int, faults: list[Fault]
) -> None:
    _drive(steps, data, faults=faults, concurrency=concurrency, scheduling="lanes")
