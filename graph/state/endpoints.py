"""What was found out about model endpoints, remembered for all runs of the process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel


class FirstAlone:
    """Lets the first of several at once find something out, while the others wait for it.

    They wait for one finding and no more: when it settled nothing, a slow or broken endpoint must not be
    asked by one after another. Each event loop finds out on its own.
    """

    def __init__(self) -> None:
        """Begin with nobody asking."""
        self._under_way: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = WeakKeyDictionary()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Enter at once as the first, else when the first has left."""
        loop = asyncio.get_running_loop()
        first = self._under_way.get(loop)
        if first is not None:
            await first.wait()
            yield
            return
        mine = self._under_way[loop] = asyncio.Event()
        try:
            yield
        finally:
            del self._under_way[loop]
            mine.set()


@dataclass
class EndpointFacts:
    """How one model at one endpoint takes its requests.

    `rejected` are parameters it does not take, `most_tokens` is the largest cap on an answer's tokens that it
    takes, where it has told. `refused` are the ways of asking for structured output
    that it does not take, for any schema; `by_name` those it does not take for the schema of that name.
    `works` is the way that gave an answer. `calls_tools` says whether it calls tools in OpenAI's way; None
    while nobody knows. Who asks while one of the two is not known takes turns in `finding_method` or
    `finding_tools`.
    """

    rejected: set[str] = field(default_factory=set)
    most_tokens: int | None = None
    refused: set[str] = field(default_factory=set)
    by_name: dict[str, set[str]] = field(default_factory=dict)
    works: str | None = None
    calls_tools: bool | None = None
    finding_method: FirstAlone = field(default_factory=FirstAlone, repr=False, compare=False)
    finding_tools: FirstAlone = field(default_factory=FirstAlone, repr=False, compare=False)

    def usable(self, methods: tuple[str, ...], name: str) -> list[str]:
        """The methods that are left for a schema of this name, best first."""
        out = self.refused | self.by_name.get(name, set())
        return [method for method in methods if method not in out]

    def confirm(self, method: str) -> None:
        self.works = method

    def refuse(self, method: str, name: str) -> None:
        """Remember a refusal: of this schema when the method works for others, of the method otherwise."""
        if self.works == method:
            self.by_name.setdefault(name, set()).add(method)
        else:
            self.refused.add(method)


class EndpointMemory:
    """Facts by endpoint and model; models without an address are told apart as objects."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._facts: dict[tuple[Any, ...], tuple[BaseChatModel, EndpointFacts]] = {}

    def of(self, model: BaseChatModel) -> EndpointFacts:
        # The model is kept too: the id of an object that is gone may come again.
        return self._facts.setdefault(_key(model), (model, EndpointFacts()))[1]


def _key(model: BaseChatModel) -> tuple[Any, ...]:
    name, address = getattr(model, "model_name", None), getattr(model, "openai_api_base", None)
    return (type(model), id(model)) if not name or not address else (type(model), str(address), str(name))
