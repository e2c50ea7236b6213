"""One question to a model as the budgets see it: estimated, reserved, and settled with what it took."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from graph.state import Settings, model_name
from nodes.accounts import Refused
from nodes.decide.budget import MESSAGE_TOKENS, actual_use, estimated_tokens, scaled, unanswered_use
from nodes.endpoint.faults import BAD_RESPONSE
from nodes.endpoint.request import Options
from nodes.ledger import Grant, Spent
from tools import CallFailed

BUDGET_SPENT = "budget_spent"
STEP_BUDGET_SPENT = "step_budget_spent"
MAY_HAVE_WORKED = frozenset({"timeout", "connection_error", BAD_RESPONSE})


def refused_call(refused: Refused) -> CallFailed:
    """A refusal as the failure of the call that was not made."""
    code = BUDGET_SPENT if refused.ends_run else STEP_BUDGET_SPENT
    return CallFailed("hard", code, refused.reason, None)


class Meter:
    """Reserves room for each try of one question and settles it; holds at most one reservation."""

    def __init__(
        self,
        settings: Settings,
        spent: Spent,
        model: BaseChatModel,
        messages: Sequence[BaseMessage],
        options: Options,
    ) -> None:
        """Estimate the prompt; nothing is reserved yet."""
        self._spent = spent
        self._name = model_name(model)
        self._price = settings.price_of(self._name)
        self._prompt = prompt_tokens(messages, options)
        own = getattr(model, "max_tokens", None)
        self._own_cap = options.max_tokens or (own if isinstance(own, int) else None)
        self._wanted = self._own_cap or settings.max_output_tokens
        self._grant: Grant | None = None

    async def reserve(self) -> CallFailed | None:
        """Room for one more call, or why there is none. What was reserved before is given back."""
        self.close()
        spent = self._spent
        prompt = scaled(self._prompt, spent.ledger.scale(self._name))
        granted = await spent.ledger.reserve(spent, prompt, self._wanted, self._price)
        if isinstance(granted, Refused):
            return refused_call(granted)
        self._grant = granted
        if spent.save is not None:
            await spent.save()
        return None

    @property
    def max_tokens(self) -> int | None:
        """The cap to send: what was granted where answers are bounded, else the caller's own."""
        return self._own_cap if self._grant is None or not self._grant.bounded else self._grant.max_tokens

    def begin(self) -> None:
        """The request is about to be made."""
        if self._grant is not None:
            self._grant.begun = True

    def answered(self, reply: AIMessage) -> None:
        """Charge what the endpoint told, or a guess where it told nothing."""
        if self._grant is None:
            return
        said = estimated_tokens(str(reply.text) + _as_text([call["args"] for call in reply.tool_calls]))
        told = _told(reply, something_said=said > 0)
        self._grant.settle(actual_use(told, (self._prompt, said), self._price))
        if told[0] is not None:
            self._spent.ledger.learn(self._name, self._prompt, told[0])

    def unanswered(self, failed: CallFailed) -> None:
        """Charge a call that failed: an error response costs nothing, what broke off may have."""
        if self._grant is not None:
            worked = failed.code in MAY_HAVE_WORKED and not failed.nothing_happened
            self._grant.settle(unanswered_use(self._grant.need, may_have_worked=worked))

    def close(self) -> None:
        """Give back, or charge, what is still reserved."""
        if self._grant is not None:
            self._grant.close()
            self._grant = None


def _told(reply: AIMessage, *, something_said: bool) -> tuple[int | None, int | None]:
    """The tokens of prompt and answer that the endpoint told; None for what it did not count.

    Some tell null or 0 for that, but no prompt has 0 tokens, and no answer that says something. A count below
    0 would make the budgets larger.
    """
    usage: Any = reply.usage_metadata or {}
    prompt, answer = (_count(usage.get(name)) for name in ("input_tokens", "output_tokens"))
    if not prompt:
        return None, None
    return prompt, None if answer == 0 and something_said else answer


def _count(told: Any) -> int | None:
    return told if isinstance(told, int) and told >= 0 else None


def prompt_tokens(messages: Sequence[BaseMessage], options: Options) -> int:
    """Estimated tokens of all that is sent with a question."""
    sent = [str(message.text) for message in messages]
    sent += [_as_text(each) for each in (options.response_format, list(options.tools)) if each]
    return sum(estimated_tokens(text) + MESSAGE_TOKENS for text in sent)


def _as_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if value else ""
