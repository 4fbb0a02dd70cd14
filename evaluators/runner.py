"""Calls for one run: the journal first, then the network, within limits, with patient retries and a cap on cost."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from builders.values import Value
from evaluators.journal import Journal, JournalError, call_key
from evaluators.limits import Gate, Limits, Service, ServiceDownError, Trouble
from evaluators.models import AttemptFailed, Complete, ServiceRefusedError, attempt
from evaluators.prices import Budget, Prices, estimate_tokens
from evaluators.starts import Starts
from evaluators.tally import Tally
from evaluators.values import Message, Model, Reply, Usage

__all__ = ["GRACE", "LONGEST_WAIT", "MoneySpentError", "RunEndedError", "Runner", "ServiceDownError", "Tally"]

LONGEST_WAIT = 120.0  # seconds; a service that asks for more is down for this run
GRACE = 10.0  # seconds that calls on their way have to arrive when a run is stopped

T = TypeVar("T")


class RunEndedError(RuntimeError):
    """A run came to a limit that was set for it; what was paid for is in the journal."""


class MoneySpentError(RunEndedError):
    """The limit was that on cost."""


class Runner:
    """Makes the calls of one run.

    Once the run has to end, or the journal cannot be written, no call is begun any more, and those on their way are
    waited for and written down: they are paid for. Where it is stopped from outside (Ctrl-C), they are waited for
    `GRACE` seconds, and when it is stopped once more, no longer.

    Args:
        journal: Where finished calls are; None: nothing is kept (dry checks and tests).
        concurrency: Most calls in flight, over all services.
        attempts: Most attempts at one call.
        timeout: Seconds for one attempt.
        shortest_wait: Scale of the first back-off in seconds; tests set 0.
        limits: By model, service (the part of a model's name before the first slash) or endpoint; the empty name
            stands for every service.
        prices: What calls cost; None: litellm's table.
        most_usd: What the replies in the journal may cost together; None: no cap.
        lost_usd: What machines that were lost may have spent unseen; it counts as spent.
        most_seconds: How long calls may be begun after the first; None: no limit.

    Attributes:
        on_change: Called after every call.
        on_stop: Called once, with the number of calls on their way, when a stop from outside waits for them.
    """

    def __init__(
        self,
        journal: Journal | None,
        *,
        concurrency: int = 8,
        attempts: int = 8,
        timeout: float = 600.0,
        shortest_wait: float = 0.5,
        limits: Mapping[str, Limits] | None = None,
        prices: Prices | None = None,
        most_usd: float | None = None,
        lost_usd: float = 0.0,
        most_seconds: float | None = None,
    ) -> None:
        self.journal = journal
        self.concurrency = concurrency
        self._lost_usd = lost_usd
        paid = lost_usd + (journal.paid_usd if journal is not None else 0.0)
        self.tally = Tally(most_usd=most_usd, paid_before_usd=paid)
        self.budget = Budget(most_usd, prices or Prices(), paid_usd=paid)
        self.on_change: Callable[[], None] = lambda: None
        self.on_stop: Callable[[int], None] = lambda _: None
        self._slots = asyncio.Semaphore(concurrency)
        self._starts = Starts()
        self._attempts = attempts
        self._timeout = timeout
        self._shortest = shortest_wait
        self._backoff = wait_random_exponential(multiplier=shortest_wait, max=60)
        self._limits = limits or {}
        self._services: dict[str, Service] = {}
        self._gates: dict[str, Gate] = {}
        self._most_seconds = most_seconds
        self._began: float | None = None
        self._ended: Exception | None = None
        self._stopped = False
        self._paying = 0
        self._quiet = asyncio.Event()

    def complete(self, model: Model, *, epoch: int = 0) -> Complete:
        """Bind a model and a repeat: the `Complete` that a solver or judge is given."""

        async def ask(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
            key = call_key(model, messages, schema=schema, epoch=epoch, again=again)
            known = self.journal.find(key) if self.journal is not None else None
            if known is not None:
                self.tally.count(known, journalled=True, model=model.name)
            else:
                known = await self._call(model, messages, schema, key)
            self.on_change()
            return known

        return ask

    async def _call(self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str) -> Reply:
        try:
            reply = await self._persist(model, messages, schema, key)
        except (ServiceRefusedError, ServiceDownError, RunEndedError, JournalError) as error:
            self._ended = self._ended or error
            while self._paying:
                self._quiet.clear()
                await self._quiet.wait()
            raise
        self.tally.count(reply, journalled=False, model=model.name)
        return reply

    async def _persist(self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str) -> Reply:
        tries = 0
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(AttemptFailed),
            stop=lambda state: stop_after_attempt(self._attempts)(state) or _asks_too_long(state),
            wait=self._wait,
            before_sleep=lambda state: self._note_retry(state, model),
            reraise=True,
        )
        try:
            async for one in retrying:
                with one:
                    tries += 1
                    return await self._send(model, messages, schema, key, tries)
        except AttemptFailed as error:
            return Reply(failure=error.failure, detail=error.detail, attempts=tries)
        raise AssertionError("tenacity ends in a reply or an error")

    async def _send(
        self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str, tries: int
    ) -> Reply:
        """Make one attempt within all limits, and write down what it brought."""
        gate, tokens = self._gate(model), float(estimate_tokens(messages))
        if gate is None:
            return await self._ask(model, messages, schema, key, tries)
        entry, reply = await self._in_time(gate.enter(tokens)), None
        try:
            reply = await self._ask(model, messages, schema, key, tries)
        finally:
            gate.leave(entry, _total(reply))
        return reply

    async def _ask(
        self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str, tries: int
    ) -> Reply:
        """Make one attempt at a service, and let its other calls know how it went."""
        service = self._service(model)
        call = await self._in_time(service.start(float(estimate_tokens(messages))))
        try:
            async with self._slots:
                await self._starts.turn(self.concurrency)
                reply = await self._pay(model, messages, schema, key, tries)
        except AttemptFailed as failed:
            crowded = failed.failure in {"rate_limited", "timeout"}
            service.done(call, tokens=None, trouble=Trouble(crowded, failed.retry_after, failed.detail))
            raise
        except BaseException:
            service.drop(call)
            raise
        self._starts.took(reply.seconds)
        service.done(call, tokens=_total(reply), trouble=None)
        return reply

    async def _pay(
        self, model: Model, messages: Sequence[Message], schema: type[Value] | None, key: str, tries: int
    ) -> Reply:
        """Make one attempt if the run goes on and the money lasts; the reply is on disk before it counts."""
        promised = self._allow(model, messages)
        self._paying += 1
        reply: Reply | None = None

        async def buy() -> Reply:
            nonlocal reply
            sent = await attempt(model, messages, schema=schema, limit=self._timeout, priced=self.budget.prices.of)
            reply = sent.model_copy(update={"attempts": tries})
            # Failures that say nothing about the model are not written down: the next run tries them again.
            if self.journal is not None and (reply.text is not None or reply.failure == "refused"):
                await self.journal.record(key, reply, model=model.name)
            return reply

        try:
            return await self._see_through(asyncio.create_task(buy()))
        finally:
            self._paying -= 1
            self._quiet.set()
            self.budget.settle(promised, model, reply)

    async def _see_through(self, call: asyncio.Task[Reply]) -> Reply:
        """Wait for a call, and a while longer where the run is stopped meanwhile: what is on its way is paid for."""
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            if not call.done():
                if not self._stopped:
                    self._stopped = True
                    self.on_stop(self._paying)
                await asyncio.wait([call], timeout=GRACE)
            raise
        finally:
            call.cancel()

    async def _in_time(self, turn: Awaitable[T]) -> T:
        """Wait for a turn, but not beyond the time in which calls may be begun.

        Raises:
            RunEndedError: If that is over first.
        """
        if self._most_seconds is None:
            return await turn
        try:
            async with asyncio.timeout(self._left()):
                return await turn
        except TimeoutError:
            raise self._late() from None

    def _left(self) -> float | None:
        """Seconds in which calls may be begun; None: no limit, or none was begun yet."""
        if self._most_seconds is None or self._began is None:
            return None
        return max(0.0, self._began + self._most_seconds - time.monotonic())

    def _late(self) -> RunEndedError:
        return RunEndedError(f"--max-seconds {self._most_seconds:g} are over: no further call was begun")

    def _allow(self, model: Model, messages: Sequence[Message]) -> float:
        """What is set aside for a call.

        Raises:
            RunEndedError: If no call may be begun any more.
        """
        if self._ended is not None:
            raise self._ended
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        if self._most_seconds is not None and now - self._began >= self._most_seconds:
            raise self._late()
        promised = self.budget.promise(model, messages)
        if promised is None:
            b, lost = self.budget, self._lost_usd
            unseen = f", and machines that were lost may have spent {lost:.4f} more" if lost else ""
            raise MoneySpentError(
                f"the next call of {model.name} could go beyond --max-cost {b.most_usd:g}: the replies in the journal "
                f"cost {b.paid_usd - lost:.4f} USD so far{unseen}; to go on, give the same command a higher --max-cost"
            )
        return promised

    def _service(self, model: Model) -> Service:
        name = model.api_base or model.name.partition("/")[0]
        if name not in self._services:
            self._services[name] = Service(
                name,
                self._limits.get(name) or self._limits.get("") or Limits(),
                in_flight=self.concurrency,
                shortest=self._shortest,
                longest=LONGEST_WAIT,
            )
        return self._services[name]

    def _gate(self, model: Model) -> Gate | None:
        """The limits of the model itself; None where it has none beyond its service's."""
        limits = self._limits.get(model.name)
        if limits is None:
            return None
        return self._gates.setdefault(model.name, Gate(limits, in_flight=self.concurrency))

    def _wait(self, state: RetryCallState) -> float:
        asked = _retry_after(state)
        # Jitter on top of what the service asks for, so that calls it turned away together do not return together.
        pause = self._backoff(state) if asked is None else asked + min(self._backoff(state), 1.0)
        left = self._left()
        return pause if left is None else min(pause, left)

    def _note_retry(self, state: RetryCallState, model: Model) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, AttemptFailed):
            self.tally.retried(model.name, error.failure)


def _total(reply: Reply | None) -> float | None:
    usage = reply.usage if reply is not None else Usage()
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    return float(usage.input_tokens + usage.output_tokens)


def _retry_after(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after if isinstance(error, AttemptFailed) else None


def _asks_too_long(state: RetryCallState) -> bool:
    return (_retry_after(state) or 0.0) > LONGEST_WAIT
