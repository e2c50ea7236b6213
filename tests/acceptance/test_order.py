"""Which step runs when: side by side, in layers, within a cap."""

from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.acceptance.support import build, given, outputs, plan, statuses, step, stored, thread, write
from tests.acceptance.toolbox import Toolbox


def _uneven() -> dict[str, Any]:
    return plan(
        step("slow", "pause", {"seconds": 1.5, "label": "slow"}),
        step("q1", "pause", {"seconds": 0.01, "label": "q1"}),
        step("q2", "pause", {"seconds": 0.01, "label": "q2"}, depends_on=["q1"]),
        step("q3", "pause", {"seconds": 0.01, "label": "q3"}, depends_on=["q2"]),
        write("join", "${slow} ${q3}"),
    )


def test_a_ready_step_does_not_wait_for_an_unrelated_slow_one(toolbox: Toolbox, store: Any) -> None:
    result = stored(toolbox, store).invoke(given(_uneven()), thread())

    assert result["status"] == "succeeded"
    assert toolbox.moments("pause", "end")["q3"] < toolbox.moments("pause", "end")["slow"]


def test_layers_give_the_same_results_as_lanes(tmp_path: Path, store: Any) -> None:
    mixed = plan(
        *_uneven()["steps"],
        step("bad", "missing", {"what": "it"}, optional=True),
        write("late", "${bad}", on_dependency_failure="degrade"),
        write("never", "${bad}", on_dependency_failure="skip"),
    )
    results = []
    for scheduling in ("lanes", "layered"):
        folder = tmp_path / scheduling
        folder.mkdir()
        toolbox = Toolbox.written(folder)
        graph = stored(toolbox, store, settings={"scheduling": scheduling})
        results.append((graph.invoke(given(mixed), thread(scheduling)), toolbox))

    (lanes, lane_calls), (layered, layer_calls) = results
    for key in ("status", "success", "reason"):
        assert layered[key] == lanes[key]
    assert statuses(layered) == statuses(lanes)
    assert outputs(layered) == outputs(lanes)
    assert {call["path"]: call["content"] for call in layer_calls.calls("write_file")} == {
        call["path"]: call["content"] for call in lane_calls.calls("write_file")
    }
    ended = layer_calls.moments("pause", "end")
    assert ended["slow"] < layer_calls.moments("pause", "begin")["q2"], "a layer ends before the next begins"


def test_a_tools_own_cap_is_kept(toolbox: Toolbox) -> None:
    toolbox.path.write_text(
        toolbox.path.read_text("utf-8").replace(
            '@policy(effect="read")\n@tool\ndef pause',
            '@policy(effect="read", max_concurrency=1)\n@tool\ndef pause',
        ),
        encoding="utf-8",
    )
    names = [f"p{number}" for number in range(4)]

    result = build(toolbox).invoke(
        given(plan(*(step(each, "pause", {"seconds": 0.1, "label": each}) for each in names)))
    )

    assert result["status"] == "succeeded"
    begins, ends = toolbox.moments("pause", "begin"), toolbox.moments("pause", "end")
    order = sorted(names, key=lambda name: begins[name])
    assert all(ends[before] <= begins[after] for before, after in pairwise(order))
