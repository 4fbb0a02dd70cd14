"""Calls for one run: the journal first, then the network, with bounded concurrency and patient retries."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from builders.values import Value
from evaluators.journal import Journal, call_key
from evaluators.models import AttemptFailed, Complete, attempt
from evaluators.values import Message, Model, Reply

LONGEST_WAIT = 120.0  # seconds; a service that asks for more is down for this run


class ServiceDownError(RuntimeError):
    """So many calls in a row failed that the service must be down; what was paid for is in the journal."""


@dataclass
class Tally:
    """What a run has done so far; written by the runner, read by the progress display."""

    calls: int = 0
    journalled: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    cost_usd: float = 0.0
    unpriced: int = 0
    in_a_row: int = 0

    def count(self, reply: Reply, *, journalled: bool) -> None:
        """Add a finished call."""
        self.calls += not journalled
        self.journalled += journalled
        if reply.failure is not None:
            self.failed[reply.failure] += 1
        if not journalled:
            self.cost_usd += reply.cost_usd or 0.0
            self.unpriced += reply.cost_usd is None and reply.text is not None


class Runner:
    """Makes the calls of one run.

    Args:
        journal: Where finished calls are; None: nothing is kept (dry checks and tests).
        concurrency: Most calls in flight.
        attempts: Most attempts at one call.
        timeout: Seconds for one attempt.
        shortest_wait: Scale of the first back-off in seconds; tests set 0.
    """

    def __init__(
        self,
        journal: Journal | None,
        *,
        concurrency: int = 8,
        attempts: int = 8,
        timeout: float = 600.0,
        shortest_wait: float = 0.5,
    ) -> None:
        self.journal = journal
        self.concurrency = concurrency
        self.tally = Tally()
        self._slots = asyncio.Semaphore(concurrency)
        self._attempts = attempts
        self._timeout = timeout
        self._backoff = wait_random_exponential(multiplier=shortest_wait, max=60)
        self.on_change: Callable[[], None] = lambda: None

    def complete(self, model: Model, *, epoch: int = 0) -> Complete:
        """Bind a model and a repeat: the `Complete` that a solver or judge is given."""

        async def ask(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
            key = call_key(model, messages, schema=schema, epoch=epoch, again=again)
            known = self.journal.find(key) if self.journal is not None else None
            if known is not None:
                self.tally.count(known, journalled=True)
            else:
                known = await self._call(model, messages, schema, key)
            self.on_change()
            return known

        return ask

    async def _call(self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str) -> Reply:
        async with self._slots:
            reply = await self._persist(model, messages, schema)
        # Failures that say nothing about the model are not written down: the next run tries them again.
        if self.journal is not None and (reply.text is not None or reply.failure == "refused"):
            self.journal.write(key, reply, model=model.name)
        self.tally.count(reply, journalled=False)
        self.tally.in_a_row = self.tally.in_a_row + 1 if reply.failure in {"service", "timeout", "rate_limited"} else 0
        if self.tally.in_a_row >= max(5, self.concurrency):
            raise ServiceDownError(
                f"{model.name}: {self.tally.in_a_row} calls in a row failed, the last: {reply.detail}"
            )
        return reply

    async def _persist(self, model: Model, messages: Sequence[Message], schema: type[Value] | None) -> Reply:
        tries = 0
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(AttemptFailed),
            stop=lambda state: stop_after_attempt(self._attempts)(state) or _asks_too_long(state),
            wait=self._wait,
            before_sleep=self._note_retry,
            reraise=True,
        )
        try:
            async for one in retrying:
                with one:
                    tries += 1
                    reply = await attempt(model, messages, schema=schema, limit=self._timeout)
        except AttemptFailed as error:
            return Reply(failure=error.failure, detail=error.detail, attempts=tries)
        return reply.model_copy(update={"attempts": tries})

    def _wait(self, state: RetryCallState) -> float:
        asked = _retry_after(state)
        # Jitter on top of what the service asks for, so that calls it turned away together do not return together.
        return self._backoff(state) if asked is None else asked + min(self._backoff(state), 1.0)

    def _note_retry(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, AttemptFailed):
            self.tally.retries[error.failure] += 1


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, AttemptFailed) else None


def _asks_too_long(state: RetryCallState) -> bool:
    return (_retry_after(state) or 0.0) > LONGEST_WAIT
