"""The chat models of random plans: one says its step back, one plans the parts that it is asked for."""

import asyncio
import json
import re
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from tests.properties.specs import Reply, Spec
from tests.properties.world import WORLD, fail_as_model

_AT_HAND = re.compile('<data from="([^"]+)">')


class _Scripted(BaseChatModel):
    """Says what the spec of the step that it is asked about wants, and fails as that does."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the graph asks it asynchronously")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
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
            message = AIMessage(content=self._says(spec, asked, told))
            return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _marker(self) -> str:
        raise NotImplementedError

    def _says(self, spec: Spec, asked: str, told: str) -> str:
        raise NotImplementedError


class Echo(_Scripted):
    """Says its step back."""

    @property
    def _marker(self) -> str:
        return "Your step: "

    def _says(self, spec: Spec, asked: str, told: str) -> str:
        return f"said {asked}"


class Planner(_Scripted):
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
