"""How fast a service is called: windows that hold whatever comes, turns for everyone, a back-off that is shared."""

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators.limits import Limits, Service, ServiceDownError, Slots, Trouble, Window, read_limits
from tests.made_clock import run_fast

# (seconds until it comes, tokens, seconds it takes)
arrivals = st.lists(st.tuples(st.floats(0, 40), st.integers(1, 120), st.floats(0, 30)), min_size=1, max_size=60)
BUSY = Trouble(crowded=True, retry_after=None, said="busy")
BROKEN = Trouble(crowded=False, retry_after=None, said="broken")


def service(limits: Limits | None = None, *, in_flight: int = 8, shortest: float = 0.5) -> Service:
    return Service("s", limits or Limits(), in_flight=in_flight, shortest=shortest, longest=120.0)


def now() -> float:
    return asyncio.get_running_loop().time()


@settings(max_examples=60)
@given(arrivals, st.integers(1, 7), st.integers(50, 200), st.integers(1, 5))
def test_no_window_holds_more_than_its_limit_and_everyone_has_a_turn_in_order(
    calls: list[tuple[float, int, float]], rpm: int, tpm: int, in_flight: int
) -> None:
    sent: list[tuple[float, int, int]] = []
    flying = peak = 0

    async def everything() -> None:
        one = service(Limits(rpm=rpm, tpm=tpm, in_flight=in_flight))

        async def call(number: int, tokens: int, takes: float) -> None:
            nonlocal flying, peak
            turn = await one.start(tokens)
            sent.append((now(), tokens, number))
            flying += 1
            peak = max(peak, flying)
            await asyncio.sleep(takes)
            flying -= 1
            one.done(turn, tokens=float(tokens), trouble=None)

        async with asyncio.TaskGroup() as group:
            for number, (gap, tokens, takes) in enumerate(calls):
                await asyncio.sleep(gap)
                group.create_task(call(number, tokens, takes))

    run_fast(everything())
    assert [number for _, _, number in sent] == list(range(len(calls))), "first come, first served; nobody starves"
    assert peak <= in_flight
    for end, _, _ in sent:
        within = [tokens for when, tokens, _ in sent if end - 60 + 1e-9 < when <= end]
        assert len(within) <= rpm
        assert sum(within) <= tpm or len(within) == 1, "only a call that is larger than the limit itself goes alone"


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.1, 50), st.floats(0.1, 80)), max_size=50))
def test_a_window_says_exactly_when_there_is_room(takings: list[tuple[float, float, float]]) -> None:
    window, time = Window(50), 0.0
    for gap, units, other in takings:
        time += gap
        wait = window.wait(units, now=time)
        if wait > 0:
            assert window.wait(units, now=time + wait * 0.999) > 0, "not a moment later than needed"
        time += wait
        assert window.wait(units, now=time) == pytest.approx(0, abs=1e-6)
        window.correct(window.take(units, now=time), min(other, 50.0))


def test_a_reply_that_was_longer_than_thought_is_made_up_for() -> None:
    window = Window(100)
    window.correct(window.take(10, now=0), 90)
    assert window.wait(20, now=1) == 59
    assert window.wait(10, now=1) == 0


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_slots_that_change_their_size_end_with_exactly_that_many(sizes: list[int]) -> None:
    async def everything() -> None:
        slots = Slots(4)
        for _ in range(4):
            await slots.acquire()
        for size in sizes:
            slots.resize(size)
        for _ in range(4):
            slots.release()
        for _ in range(slots.size):
            await asyncio.wait_for(slots.acquire(), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slots.acquire(), 1)

    run_fast(everything())


def test_retry_after_holds_back_every_call_of_the_service() -> None:
    async def everything() -> tuple[float, float]:
        one = service()
        began = now()
        first, second = await one.start(1), await one.start(1)
        one.done(first, tokens=None, trouble=Trouble(crowded=True, retry_after=7.0, said="busy"))
        one.done(second, tokens=None, trouble=None)
        third = await one.start(1)
        return began, third.sent

    began, sent = run_fast(everything())
    assert sent - began == pytest.approx(7)


def test_the_slot_of_a_call_that_was_turned_away_is_gone_before_another_call_can_have_it() -> None:
    async def everything() -> int:
        one = service(in_flight=8)
        turns = [await one.start(1) for _ in range(8)]
        waiting = [asyncio.create_task(one.start(1)) for _ in range(8)]
        await asyncio.sleep(0.1)
        for turn in turns[:3]:
            one.done(turn, tokens=None, trouble=BUSY)
        await asyncio.sleep(100)
        assert not any(w.done() for w in waiting)
        for turn in turns[3:]:
            one.done(turn, tokens=None, trouble=None)
        await asyncio.sleep(100)
        return sum(w.done() for w in waiting)

    assert run_fast(everything()) == 5


def test_failures_in_a_row_hold_back_all_calls_the_sooner_the_less_a_service_fails() -> None:
    def row(share: float) -> int:
        async def everything() -> int:
            one = service(in_flight=99)
            rng = np.random.default_rng(1)
            while one._health.failing < share:
                one.done(await one.start(1), tokens=None, trouble=BROKEN if rng.random() < share else None)
            one.done(await one.start(1), tokens=None, trouble=None)
            began, failed = now(), 0
            while now() == began:
                one.done(await one.start(1), tokens=None, trouble=BROKEN)
                failed += 1
            return failed - 1

        return run_fast(everything())

    assert (row(0.0), row(0.3)) == (6, 10)


def test_a_service_that_fails_throughout_is_tried_once_more_after_a_pause_and_then_given_up() -> None:
    async def everything() -> tuple[int, float]:
        one, tried, began = service(in_flight=4), 0, now()

        async def call() -> None:
            nonlocal tried
            while True:
                turn = await one.start(1)
                tried += 1
                await asyncio.sleep(0.1)
                one.done(turn, tokens=None, trouble=BROKEN)

        found = await asyncio.gather(*(call() for _ in range(4)), return_exceptions=True)
        assert all(isinstance(e, ServiceDownError) for e in found), "whoever waits hears of it, too"
        return tried, now() - began

    tried, took = run_fast(everything())
    assert 11 <= tried <= 14, "ten failures, those in flight at the tenth, and one alone"
    assert took > 30


@pytest.mark.parametrize("late", [False, True])
def test_one_success_after_the_pause_and_all_goes_on(late: bool) -> None:
    async def everything() -> list[float]:
        one = service(in_flight=10)
        slow = await one.start(1)
        for _ in range(10):
            one.done(await one.start(1), tokens=None, trouble=BROKEN)
        probe = await one.start(1)
        waiting = asyncio.create_task(one.start(1))
        await asyncio.sleep(100)
        assert not waiting.done(), "one call alone tries a service that seems down"
        if late:
            one.done(slow, tokens=None, trouble=None)
            one.done(probe, tokens=None, trouble=BROKEN)
        else:
            one.done(probe, tokens=None, trouble=None)
        return [probe.sent, (await waiting).sent]

    probe, after = run_fast(everything())
    assert after >= probe + 100


def test_a_probe_that_was_given_up_says_nothing_and_another_takes_its_place() -> None:
    async def everything() -> Any:
        one = service(in_flight=10)
        for _ in range(10):
            one.done(await one.start(1), tokens=None, trouble=BROKEN)
        one.drop(await one.start(1))
        return await one.start(1)

    assert run_fast(everything()).probe


def test_a_call_that_is_cancelled_while_it_waits_leaves_its_place_to_others() -> None:
    async def everything() -> None:
        one = service(Limits(rpm=1, in_flight=2))
        turn = await one.start(1)
        waiting = asyncio.create_task(one.start(1))
        await asyncio.sleep(1)
        waiting.cancel()
        one.done(turn, tokens=None, trouble=None)
        for _ in range(3):
            one.done(await one.start(1), tokens=None, trouble=None)

    run_fast(everything())


def test_slots_pass_over_whoever_was_cancelled_in_the_queue_or_on_being_served() -> None:
    async def everything() -> None:
        slots = Slots(1)
        await slots.acquire()
        waiting = [asyncio.create_task(slots.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        slots.release()
        waiting[1].cancel()  # it has just been given the slot, and has not run since
        await asyncio.wait_for(waiting[2], 1)
        slots.release()
        await asyncio.wait_for(slots.acquire(), 1)

    run_fast(everything())


def test_limits_are_read_by_whom_they_hold_for() -> None:
    read = read_limits([["openai", "rpm=500", "tpm=9"], ["in_flight=3"], ["openai/gpt-5.1", "in_flight=1"]])
    assert read == {"openai": Limits(rpm=500, tpm=9), "": Limits(in_flight=3), "openai/gpt-5.1": Limits(in_flight=1)}
