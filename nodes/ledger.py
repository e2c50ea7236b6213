"""The run's ledger: what was spent and reserved by whom, safe for all lanes of one event loop."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from graph.state import Price
from nodes.accounts import Account, Now, Refused, utc_now
from nodes.decide.budget import (
    MIN_OUTPUT_TOKENS,
    NOTHING,
    Limits,
    Used,
    call_need,
    told_spent,
    unanswered_use,
)

STEPS = "steps"
SHRINKING = frozenset({"tokens", "cost"})
"""Budgets of which a call that ends gives back what it did not take."""


class Ledger:
    """What one run has spent, by role, and what its budgets still allow.

    The first refusal for want of the run's own budget is kept in `refused`: from then on nothing new
    is granted and nothing new should be started.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        books: Mapping[str, Used] | None = None,
        now: Now = utc_now,
        seconds: float = 0.0,
    ) -> None:
        """Open the books.

        Args:
            limits: The run's budgets.
            books: What was spent before this process, by role.
            now: The clock.
            seconds: How long the run has worked before.
        """
        self.books: dict[str, Used] = dict(books or {})
        self.run = Account(limits or Limits(), self.total, now=now, seconds=seconds)
        self.refused: str | None = None
        self._reserved: dict[str, Used] = {}
        self._scales: dict[str, float] = {}
        self._changed = asyncio.Event()

    @property
    def total(self) -> Used:
        return sum(self.books.values(), NOTHING)

    def committed(self) -> dict[str, Used]:
        """By role what is spent if the process ends now: calls under way count as they were reserved."""
        roles = self.books.keys() | self._reserved.keys()
        return {r: self.books.get(r, NOTHING) + self._reserved.get(r, NOTHING) for r in roles}

    def scale(self, model: str) -> float:
        """How many tokens this endpoint counts for each one estimated, at least 1, as seen so far."""
        return self._scales.get(model, 1.0)

    def learn(self, model: str, estimated: int, counted: int) -> None:
        """Take over how an endpoint counts: the next reservation is not below it."""
        if estimated > 0:
            self._scales[model] = max(self.scale(model), counted / estimated)

    async def reserve(
        self, spent: "Spent", prompt_tokens: int, wanted: int, price: Price | None
    ) -> "Grant | Refused":
        """Room for one model call, as soon as calls under way have left it; or the refusal for good.

        Args:
            spent: Who asks.
            prompt_tokens: The prompt's estimated tokens.
            wanted: Tokens the answer should be allowed; fewer are granted when no more are left.
            price: The model's price, where there is one.
        """
        while True:
            granted = self._grant(spent, prompt_tokens, wanted, price)
            if granted is not None:
                return granted
            await self._changed.wait()

    def _grant(
        self, spent: "Spent", prompt_tokens: int, wanted: int, price: Price | None
    ) -> "Grant | Refused | None":
        """The room, the refusal, or None when it depends on what calls under way will leave."""
        if self.refused is not None:
            return Refused(self.refused, ends_run=True)
        accounts = (self.run, spent.account)
        bounded = any(account.limits.bounds_answers for account in accounts)
        wanted = wanted if bounded else 0
        rooms = [account.output_room(prompt_tokens, price, wanted) for account in accounts]
        if any(room < wanted and not a.idle for room, a in zip(rooms, accounts, strict=True)):
            wanted_now, may_wait = wanted, True
        else:
            wanted_now, may_wait = max(min(rooms), min(wanted, MIN_OUTPUT_TOKENS)), False
        need = call_need(prompt_tokens, wanted_now, price)
        for account in accounts:
            name = account.lacks(need)
            if name is not None and name in SHRINKING and (may_wait or not account.idle):
                return None
            if name is not None:
                return self._refuse(account, name)
        return self._take(spent, need, bounded=bounded)

    def _take(self, spent: "Spent", need: Used, *, bounded: bool) -> "Grant":
        for account in (self.run, spent.account):
            account.reserved = account.reserved + need
        self._reserved[spent.role] = self._reserved.get(spent.role, NOTHING) + need
        return Grant(self, spent, need, bounded)

    def _refuse(self, account: Account, name: str) -> Refused:
        reason = told_spent(account.limits, name)
        if account is not self.run:
            return Refused(reason, ends_run=False)
        self.refused = self.refused or reason
        self._wake()
        return Refused(reason, ends_run=True)

    def lift(self) -> None:
        """Grant whatever is asked for from now on: undoing a run must not fail for want of its budgets."""
        self.run.limits, self.refused = Limits(), None

    def tool_call(self, spent: "Spent") -> Refused | None:
        """Count one tool call that is about to be made, or say why it may not be."""
        if self.refused is not None:
            return Refused(self.refused, ends_run=True)
        need = Used(tool_calls=1)
        for account in (self.run, spent.account):
            name = account.lacks(need)
            if name is not None:
                return self._refuse(account, name)
        self._book(spent, need)
        return None

    def out_of_time(self) -> str | None:
        """The refusal when the run's wall time is spent."""
        if self.refused is None and self.run.seconds_left == 0.0:
            self._refuse(self.run, "wall_seconds")
        return self.refused

    def seconds_left(self, spent: "Spent") -> float | None:
        """Seconds until the first of the two wall time budgets is spent; None without one."""
        left = [s for a in (self.run, spent.account) if (s := a.seconds_left) is not None]
        return min(left, default=None)

    def settle(self, grant: "Grant", used: Used) -> None:
        """Put what a call really took in the place of what was reserved for it."""
        for account in (self.run, grant.spent.account):
            account.reserved = account.reserved.without(grant.need)
        role = grant.spent.role
        self._reserved[role] = self._reserved[role].without(grant.need)
        self._book(grant.spent, used)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _book(self, spent: "Spent", used: Used) -> None:
        self.books[spent.role] = self.books.get(spent.role, NOTHING) + used
        for account in (self.run, spent.account):
            account.used = account.used + used


@dataclass
class Spent:
    """What one step, or one role beside the steps, has spent; every question it asks is charged here.

    `save` writes down what is reserved, before the call is made.
    """

    ledger: Ledger = field(default_factory=Ledger)
    role: str = STEPS
    account: Account = field(default_factory=Account)
    save: Callable[[], Awaitable[None]] | None = None

    @property
    def used(self) -> Used:
        return self.account.used

    @property
    def committed(self) -> Used:
        """What is spent if the process ends now: calls under way count as they were reserved."""
        return self.account.used + self.account.reserved

    @property
    def model_calls(self) -> int:
        return self.used.model_calls

    def no_time_for(self, seconds: float) -> str | None:
        """The budget of wall time that ends before a wait of so many seconds does, in a sentence."""
        for account in (self.ledger.run, self.account):
            left = account.seconds_left
            if left is not None and seconds >= left:
                return told_spent(account.limits, "wall_seconds")
        return None

    def timeout(self, limit: float) -> float:
        """The seconds a call may take: `limit`, or what is left of the wall time."""
        left = self.ledger.seconds_left(self)
        return limit if left is None else min(limit, left)


@dataclass
class Grant:
    """Room for one model call. `bounded` says that the answer must be capped at `max_tokens`."""

    ledger: Ledger
    spent: Spent
    need: Used
    bounded: bool
    begun: bool = False
    settled: bool = False

    @property
    def max_tokens(self) -> int:
        return self.need.output_tokens

    def settle(self, used: Used) -> None:
        """Charge `used` in the place of the reservation; only the first call counts."""
        if not self.settled:
            self.settled = True
            self.ledger.settle(self, used)

    def close(self) -> None:
        """The call ended without an answer: cancelled or cut off, which may cost all, or never made."""
        self.settle(unanswered_use(self.need, may_have_worked=True) if self.begun else NOTHING)
