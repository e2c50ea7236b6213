"""What was found out about model endpoints, remembered for all runs of the process."""

from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel


@dataclass
class EndpointFacts:
    """How one model at one endpoint takes its requests.

    `rejected` are parameters it does not take. `refused` are the ways of asking for structured output
    that it does not take, for any schema; `by_name` those it does not take for the schema of that name.
    `works` is the way that gave an answer. `calls_tools` says whether it calls tools in OpenAI's way; None
    while nobody knows.
    """

    rejected: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    by_name: dict[str, set[str]] = field(default_factory=dict)
    works: str | None = None
    calls_tools: bool | None = None

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
