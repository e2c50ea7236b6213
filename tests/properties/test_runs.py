"""Random plans, whole: what comes out is what a serial run would give."""

import os
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.properties.drawing import specs
from tests.properties.durable import Memory
from tests.properties.harness import Fault, Harness, drive
from tests.properties.specs import Spec

TIMES = int(os.environ.get("PROPERTY_TIMES", "1"))
"""A long run draws so many times the examples: PROPERTY_TIMES=10."""

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


@dataclass(frozen=True)
class Way:
    """How a plan is run."""

    concurrency: int
    scheduling: str
    compensate: bool


WAYS = st.builds(Way, st.integers(1, 4), st.sampled_from(["lanes", "layered"]), st.booleans())


def _drive(steps: tuple[Spec, ...], data: Any, way: Way, faults: list[Fault]) -> None:
    harness = Harness(
        steps,
        Memory(),
        max_concurrency=way.concurrency,
        scheduling=way.scheduling,
        compensate=way.compensate,
    )
    drive(harness, steps, data, faults)


@settings(QUIET, max_examples=60 * TIMES)
@given(specs(max_steps=9), st.data(), WAYS)
def test_an_undisturbed_run_ends_as_a_serial_one(
    steps: tuple[Spec, ...], data: st.DataObject, way: Way
) -> None:
    _drive(steps, data, way, [])


@settings(QUIET, max_examples=100 * TIMES)
@given(specs(max_steps=7), st.data(), WAYS, st.lists(FAULTS, max_size=6))
def test_a_run_that_is_interrupted_anywhere_ends_as_if_it_had_not_been(
    steps: tuple[Spec, ...], data: st.DataObject, way: Way, faults: list[Fault]
) -> None:
    _drive(steps, data, way, faults)
