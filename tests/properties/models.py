"""The chat models of random plans: one says its step back, one plans the parts that it is asked for."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from tests.properties.specs import Reply, Spec
from tests.properties.world import WORLD, fail_as_model
from tests.support.models import SpeakingLater

_AT_HAND = re.compile('<data from="([^"]+)">')


class _OfItsSpec(SpeakingLater):
    """Says what the spec of the step that it is asked about wants, and fails as that does."""

    async def reply(self, messages: Sequence[BaseMessage], more: Mapping[str, Any]) -> AIMessage:
        told = "\n\n".join(str(message.content) for message in messages)
        asked = told.partition(self._marker)[2].partition("\n\n")[0]
        world = WORLD.get()
        spec = world.specs[asked.partition(": ")[0]]
        async with world.call(spec) as number:
            world.fuse.point()
            fail_as_model(spec, number)
            await asyncio.sleep(0)
            world.fuse.point()
            world.ended.add(spec.id)
            return AIMessage(self._says(spec, asked, told))

    @property
    def _marker(self) -> str:
        raise NotImplementedError

    def _says(self, spec: Spec, asked: str, told: str) -> str:
        raise NotImplementedError


class Echo(_OfItsSpec):
    """Says its step back."""

    @property
    def _marker(self) -> str:
        return "Your step: "

    def _says(self, spec: Spec, asked: str, told: str) -> str:
        return f"said {asked}"


class Planner(_OfItsSpec):
    """Plans a part as its spec has it, with the results that it is shown."""

    @property
    def _marker(self) -> str:
        return "Plan only this part: "

    def _says(self, spec: Spec, asked: str, told: str) -> str:
        plan = [each.within(frozenset(_AT_HAND.findall(told))).to_json() for each in spec.part]
        nonsense = [{"id": "a", "action": "tool", "tool": "fly"}]
        match spec.reply:
            case Reply.ANSWER:
                return json.dumps({"answer": answer_to(spec)})
            case Reply.CANNOT:
                return json.dumps({"cannot": "there is no way"})
            case Reply.NONSENSE:
                return json.dumps({"plan": {"steps": nonsense}})
            case Reply.MENDED if "This plan cannot run" not in told:
                return json.dumps({"plan": {"steps": nonsense}})
            case _:
                return json.dumps({"plan": {"steps": plan}})


def answer_to(spec: Spec) -> str:
    """What the planner's model answers where there is nothing to plan."""
    return f"no need of {spec.id}"
