"""Calls through providers' batch endpoints: half the price, within a day, and the same bundle as a live run.

A play asks its questions as ever; those whose model takes batches wait here until nothing else moves, then go out
together, one batch a model. What comes back is written into the journal under the same keys, and the play goes on to
its next stage: repairs, then the jury. What was sent is on disk before it is waited for, so that the same command
collects it hours later.
"""

import asyncio
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from hashlib import sha256
from typing import TypeVar

from builders.values import Value
from evaluators.engines import batch_api as api
from evaluators.engines.batch_api import Call, Result
from evaluators.engines.outbox import Outbox, Sent
from evaluators.journal import Journal, call_key
from evaluators.models import Complete, ServiceRefusedError
from evaluators.run import first_error
from evaluators.runner import Runner
from evaluators.values import Failure, Message, Model, Reply

T = TypeVar("T")
MOST_SENDS = 4  # batches in which one command tries a call
SPINS = 100  # turns of the event loop without a new question, after which a stage is taken to be complete


class BatchRunner(Runner):
    """Makes the calls of one run in batches; models whose provider has none are called one by one.

    Args:
        journal: Where finished calls are; the file of batches under way lies beside it.
        live: Makes the calls that no batch takes.
        attempts_at_once: Most attempts that wait together: a stage is one batch only if all its calls can wait.
        poll_seconds: Pause between two looks at the batches under way.
    """

    def __init__(self, journal: Journal, *, live: Runner, attempts_at_once: int, poll_seconds: float) -> None:
        super().__init__(journal, concurrency=max(1, attempts_at_once))
        self._outbox = Outbox(journal.path.with_name("batches.json"))
        self._replies, self._live, self._poll = journal, live, poll_seconds
        self.tally = live.tally
        self._batched: dict[Model, bool] = {}
        self._waiting: dict[str, tuple[Call, list[asyncio.Future[Reply]]]] = {}
        self._sends: dict[str, int] = {}
        self._moves = 0
        self._calling = 0

    def complete(self, model: Model, *, epoch: int = 0) -> Complete:
        """Bind a model and a repeat."""
        if model not in self._batched:
            self._batched[model] = api.batched(model)
            if not self._batched[model]:
                _say(f"{model.name}: {api.why_not(model)}; its calls are made one by one")
        live = self._live.complete(model, epoch=epoch)

        async def ask(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
            self._moves += 1
            if not self._batched[model]:
                self._calling += 1
                try:
                    return await live(messages, schema=schema, again=again)
                finally:
                    self._calling -= 1
            key = call_key(model, messages, schema=schema, epoch=epoch, again=again)
            known = self._replies.find(key)
            if known is not None:
                self.tally.count(known, journalled=True, model=model.name)
                return known
            _, waiters = self._waiting.setdefault(key, (Call(key, model, tuple(messages), schema), []))
            waiters.append(asyncio.get_running_loop().create_future())
            return await waiters[-1]

        return ask

    async def drive(self, play: Coroutine[None, None, T]) -> T:
        """Let a play run to its end, sending and collecting batches whenever it waits for nothing else.

        Raises:
            ServiceRefusedError: If a provider refuses a batch.
            JournalError: If what came back cannot be written down.
        """
        try:
            async with asyncio.TaskGroup() as group:
                playing, post = group.create_task(play), group.create_task(self._post())
                playing.add_done_callback(lambda _: post.cancel())
        except BaseExceptionGroup as errors:
            raise first_error(errors) from None
        return playing.result()

    async def _post(self) -> None:
        while True:
            await self._settled()
            for calls in self._unsent():
                await self._mail(calls)
            if self._outbox.sent:
                await self._look()
            else:
                await asyncio.sleep(self._poll)

    async def _settled(self) -> None:
        """Wait until no question has come for a while and no call is being made: what waits is a stage.

        Taken too early it only makes two batches of one.
        """
        seen = -1
        while seen != self._moves or self._calling:
            seen = self._moves
            for _ in range(SPINS):
                await asyncio.sleep(0)
            if self._calling:
                await asyncio.sleep(0.05)

    def _unsent(self) -> Iterator[list[Call]]:
        """Waiting calls that no batch has yet, by model."""
        under_way = {key for one in self._outbox.sent.values() for key in one.keys}
        by_model: dict[Model, list[Call]] = {}
        for key, (call, _) in self._waiting.items():
            if key not in under_way:
                by_model.setdefault(call.model, []).append(call)
        yield from by_model.values()

    async def _mail(self, calls: Sequence[Call]) -> None:
        lines: list[bytes] = []
        size = first = 0
        for n, call in enumerate(calls):
            line = api.request(call)
            if lines and (len(lines) == api.MOST_CALLS or size + len(line) > api.MOST_BYTES):
                await self._submit(calls[first:n], lines)
                lines, size, first = [], 0, n
            lines.append(line)
            size += len(line)
        await self._submit(calls[first:], lines)

    async def _submit(self, calls: Sequence[Call], lines: Sequence[bytes]) -> None:
        model = calls[0].model
        file_id = await api.upload(model, lines)
        tag = sha256(f"{self._replies.path}\n{file_id}".encode()).hexdigest()[:32]
        keys = tuple(call.key for call in calls)
        one = Sent(tag=tag, model=model, file_id=file_id, keys=keys, made=time.time())
        self._outbox.put(one)
        await self._hand_in(one, lines)
        for call in calls:
            self._sends[call.key] = self._sends.get(call.key, 0) + 1

    async def _hand_in(self, one: Sent, lines: Sequence[bytes] | None) -> Sent | None:
        """Submit a batch; one of an earlier command (`lines` None) is found again, or its calls are to be sent anew."""
        batch_id = await api.submit(one, lines, taken=self._taken())
        if batch_id is None:
            self._outbox.drop(one.tag)
            return None
        done = one.model_copy(update={"batch_id": batch_id})
        self._outbox.put(done)
        _say(f"{one.model.name}: {len(one.keys)} calls sent as {batch_id}; you may stop, the same command collects")
        return done

    def _taken(self) -> frozenset[str]:
        """Batches that are known to be others than one that is looked for."""
        return frozenset(one.batch_id for one in self._outbox.sent.values() if one.batch_id is not None)

    async def _look(self) -> None:
        """Collect the batches that have ended; if none has, wait."""
        ended = False
        for one in tuple(self._outbox.sent.values()):
            known = one if one.batch_id is not None else await self._hand_in(one, None)
            if known is None:
                return
            found = await api.look(known.model, known.batch_id or "")
            if found.state == "running":
                continue
            ended = True
            if found.state == "failed":
                self._outbox.drop(one.tag)
                raise ServiceRefusedError(f"{one.model.name}: batch {known.batch_id} was not taken: {found.said}")
            self._take(known, await api.collect(known.model, found.files), found.state)
        if not ended:
            await asyncio.sleep(self._poll)

    def _take(self, one: Sent, results: Sequence[Result], state: api.State) -> None:
        """Write down what a batch brought, then tell those who wait for it.

        Raises:
            ServiceRefusedError: If the provider refused calls as it would refuse any; what it answered is kept.
        """
        brought = {r.key: r for r in results if r.key in set(one.keys)}
        answers = {key: self._priced(one.model, r.reply) for key, r in brought.items() if r.reply is not None}
        for key, reply in answers.items():
            if (reply.text is not None or reply.failure == "refused") and self._replies.find(key) is None:
                self._replies.write(key, reply, model=one.model.name)
        self._outbox.drop(one.tag)
        if refused := next((r.detail for r in brought.values() if r.hopeless), None):
            raise ServiceRefusedError(refused)
        lost = [key for key in one.keys if key not in answers]
        again = [key for key in lost if self._sends.get(key, 0) < MOST_SENDS]
        _say(f"{one.model.name}: {one.batch_id} {state}, {len(answers)} replies, {len(again)} calls to be sent again")
        for key in set(lost) - set(again):
            answers[key] = _given_up(brought.get(key))
        for key, reply in answers.items():
            self.tally.count(reply, journalled=False, model=one.model.name)
            for waiter in self._waiting.pop(key, (None, ()))[1]:
                if not waiter.done():
                    waiter.set_result(reply)
        self._moves += 1
        self.on_change()

    def _priced(self, model: Model, reply: Reply) -> Reply:
        """The reply at a price that was given by hand, where there is one."""
        given = self._live.budget.prices.of(model, reply.usage, batch=True)
        return reply if given is None else reply.model_copy(update={"cost_usd": given})


def _given_up(result: Result | None) -> Reply:
    failure: Failure = result.failure or "service" if result else "service"
    return Reply(failure=failure, detail=result.detail if result else "the batch says nothing of this call")


def _say(line: str) -> None:
    print(f"batch: {line}", file=sys.stderr, flush=True)
