"""Calls start a little apart while the event loop has time to spare, and at once while it has none."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluators.starts import APART, Starts
from tests.made_clock import run_fast


def starts_of(calls: int, in_flight: int, seconds: float) -> list[float]:
    """When calls that take so long start, so many of them at a time."""
    began: list[float] = []

    async def everything() -> None:
        starts, slots = Starts(), asyncio.Semaphore(in_flight)

        async def call() -> None:
            async with slots:
                await starts.turn(in_flight)
                began.append(asyncio.get_running_loop().time())
                await asyncio.sleep(seconds)
                starts.took(seconds)

        await asyncio.gather(*(call() for _ in range(calls)))

    run_fast(everything())
    return began


@settings(max_examples=25)
@given(st.integers(1, 150), st.integers(1, 64), st.floats(2, 60))
def test_long_calls_start_apart_and_lose_no_more_than_the_first_round(calls: int, in_flight: int, long: float) -> None:
    began = starts_of(calls, in_flight, long)
    assert all(later - sooner >= APART * 0.999 for sooner, later in pairwise(began))
    rounds = (calls - 1) // in_flight
    assert began[-1] - began[0] <= rounds * long + in_flight * APART * 1.001 + 1e-6


def test_short_calls_start_as_they_can_once_it_is_known_that_they_are_short() -> None:
    began = starts_of(1000, in_flight=64, seconds=0.05)
    assert began[-1] - began[0] == pytest.approx(1000 / 64 * 0.05, abs=0.25)


def test_a_single_call_at_a_time_never_waits() -> None:
    assert starts_of(5, in_flight=1, seconds=1.0) == pytest.approx([1000, 1001, 1002, 1003, 1004], abs=1e-6)
