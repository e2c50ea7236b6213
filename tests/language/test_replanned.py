"""Branches in the plan that takes the place of one that failed."""

from tests.language.support import Desk, breaks, statuses, step
from tests.support.models import says

FIRST = (
    step("first", "look"),
    step("no", "send", "unwanted", when="first.of == 'x'"),
    step("behind", "look", depends_on=["no"]),
    step("yes", "send", "wanted", when="first.of == 'first'"),
    step("lost", "look", depends_on=["first"]),
)


def replanned(desk: Desk, *steps: dict[str, object]) -> None:
    desk.office.does["look:lost"] = breaks()
    desk.models = says({"steps": list(steps)})


async def test_branches_that_were_not_taken_are_left_out_of_the_next_plan(desk: Desk) -> None:
    replanned(desk, step("other", "ask"))

    document = await desk.run(*FIRST)

    assert statuses(document) == dict.fromkeys(["first", "yes", "other"], "succeeded")
    assert document["status"] == "succeeded"
    assert desk.office.did("send") == ["wanted"]


async def test_a_new_step_may_still_ask_about_them(desk: Desk) -> None:
    replanned(desk, step("join", "ask", ["${yes.of}", "${behind.of}"]))

    document = await desk.run(*FIRST)

    assert statuses(document) == {
        **dict.fromkeys(["first", "yes", "join"], "succeeded"),
        **dict.fromkeys(["no", "behind"], "not_taken"),
    }
    assert desk.office.did("ask") == [["wanted", None]]
    revisions = {key: entry.revision for key, entry in (await desk.entries()).items()}
    assert (revisions["no"], revisions["no@r1"], revisions["yes"]) == (2, 1, 1)


async def test_they_may_be_planned_again_under_another_condition(desk: Desk) -> None:
    replanned(desk, step("no", "send", "now", when="first.of == 'first'"))

    document = await desk.run(*FIRST)

    assert statuses(document) == dict.fromkeys(["first", "yes", "no"], "succeeded")
    assert desk.office.did("send") == ["wanted", "now"]
