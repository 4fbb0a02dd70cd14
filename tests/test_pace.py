"""How many calls a service is given: as many as a full one takes, as ever of a moody one, few of one that is out.

The services are made, the clock jumps; the calls pass through the back-off that all calls of a service share.
"""

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.limits import Limits, Service, ServiceDownError, Trouble
from evaluators.pace import BELIEVED, Pace
from tests.made_clock import run_fast

ATTEMPTS = 8  # at one call, as the runner has it
REFUSED = Trouble(crowded=True, retry_after=None, said="busy")


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Made:
    """A service that turns away what is beyond its capacity, and a share of the rest at any pace.

    Attributes:
        capacity: Calls it works at together.
        moods: Share of calls turned away at any pace, by the seconds from which on it holds.
        seconds: A call takes about so long.
        refusal: Seconds until a call is turned away.
    """

    capacity: int = 10**6
    moods: dict[float, float] = field(default_factory=dict)
    seconds: float = 1.0
    refusal: float = 0.01
    busy: int = 0

    async def ask(self, rng: np.random.Generator, time: float) -> bool:
        """Whether the call was answered."""
        mood = next((share for since, share in reversed(self.moods.items()) if time >= since), 0.0)
        if self.busy >= self.capacity or rng.random() < mood:
            await asyncio.sleep(self.refusal)
            return False
        self.busy += 1
        await asyncio.sleep(self.seconds * rng.uniform(0.5, 1.5))
        self.busy -= 1
        return True


class Seen(NamedTuple):
    """What became of the calls that ended after the first quarter of the time.

    Attributes:
        answered: Of these.
        share: Turned away, of these.
        lost: Calls, from the first second on, that were turned away at every attempt.
        fewest: Calls that the least served of all who call had answered, from the first second on.
        sizes: Calls at one time, looked at a hundred times.
        mood: What the service was taken for in the end.
    """

    answered: int
    share: float
    lost: int
    fewest: int
    sizes: list[int]
    mood: float


def call_for(made: Made, seconds: float, *, in_flight: int) -> Seen:
    """Let three times as many callers call as calls are wanted at one time, each as patiently as the runner."""
    rng = np.random.default_rng(1)

    async def everything() -> Seen:
        service = Service("s", Limits(), in_flight=in_flight, shortest=0.5, longest=120.0)
        began, sizes = now(), []
        ends: list[tuple[float, bool]] = []
        answered, lost = [0] * (3 * in_flight), 0

        async def caller(number: int) -> None:
            nonlocal lost
            while now() - began < seconds:
                for attempt in range(ATTEMPTS):
                    call = await service.start(1)
                    good = await made.ask(rng, now() - began)
                    service.done(call, tokens=None, trouble=None if good else REFUSED)
                    ends.append((now() - began, good))
                    if good:
                        answered[number] += 1
                        break
                    await asyncio.sleep(rng.uniform(0, 0.5 * 2**attempt))
                else:
                    lost += 1

        async with asyncio.TaskGroup() as group:
            for number in range(3 * in_flight):
                group.create_task(caller(number))
            for _ in range(100):
                await asyncio.sleep(seconds / 100)
                sizes.append(service.slots.size)
        counted = [good for when, good in ends if seconds / 4 <= when < seconds]
        share = 1 - sum(counted) / len(counted)
        return Seen(sum(counted), share, lost, min(answered), sizes, service.pace.mood)

    return run_fast(everything())


@pytest.mark.parametrize("refusal", [0.01, 1.0])
@pytest.mark.parametrize(("capacity", "share"), [(1, 0.15), (3, 0.06), (10, 0.03), (40, 0.02)])
def test_a_full_service_is_given_what_it_takes_and_hardly_more(capacity: int, share: float, refusal: float) -> None:
    seen = call_for(Made(capacity=capacity, refusal=refusal), 120, in_flight=64)
    assert seen.answered >= 0.9 * capacity * 90, "no collapse"
    assert seen.share <= share
    assert (seen.lost, seen.mood) == (0, 0)
    later = seen.sizes[25:]
    assert max(1, int(0.8 * capacity)) <= min(later) <= max(later) <= capacity + 1
    assert seen.fewest >= 1 or capacity == 1, "no starvation"


@pytest.mark.parametrize("refusal", [0.01, 1.0])
@pytest.mark.parametrize(("mood", "in_flight"), [(0.02, 64), (0.1, 64), (0.1, 16), (0.1, 8), (0.2, 32)])
def test_a_moody_service_is_given_what_is_wanted(mood: float, in_flight: int, refusal: float) -> None:
    seen = call_for(Made(moods={0: mood}, refusal=refusal), 120, in_flight=in_flight)
    # What is possible: calls that are turned away hold a slot, too.
    possible = 90 * in_flight / (1 + refusal * mood / (1 - mood))
    assert seen.answered >= 0.8 * possible
    assert seen.share == pytest.approx(mood, abs=0.05), "it turns away as many as ever"
    assert seen.lost == 0


def test_a_service_that_is_full_and_moody_is_given_what_it_takes() -> None:
    seen = call_for(Made(capacity=20, moods={0: 0.1}), 120, in_flight=64)
    assert seen.answered >= 0.8 * 20 * 90
    assert seen.share <= 0.25


def test_a_mood_that_passes_is_forgotten_and_a_service_that_fills_up_is_found_full() -> None:
    made = Made(moods={0: 0.1, 40: 0.0})
    seen = call_for(made, 120, in_flight=32)
    assert seen.mood == 0
    assert seen.sizes[-1] == 32


@given(st.integers(1, 100), st.lists(st.tuples(st.booleans(), st.floats(0, 5)), max_size=400))
def test_no_service_is_given_more_than_is_wanted_or_nothing(most: int, ends: list[tuple[bool, float]]) -> None:
    pace, time = Pace(most), 0.0
    for refused, took in ends:
        time += took / most
        assert 1 <= pace.note(refused=refused, sent=time - took, now=time) <= most
        assert 0 <= pace.mood <= 0.5


def test_a_place_goes_with_each_call_that_is_turned_away_and_comes_back_if_that_does_not_help() -> None:
    pace = Pace(10)
    sizes = [pace.note(refused=n % 4 == 0, sent=0, now=0) for n in range(16)]
    assert (sizes[0], sizes[4], sizes[8], sizes[12]) == (9, 8, 7, 6)
    assert sizes[-1] == 5, "a little less than it took, for a look"
    # Sent before the look: nothing is learnt of them.
    assert {pace.note(refused=True, sent=-1, now=1) for _ in range(2)} == {5}
    sizes = [pace.note(refused=n % 4 == 0, sent=1, now=1) for n in range(24)]
    assert sizes[-1] == 10
    assert pace.mood == pytest.approx(0.25, abs=0.05)


def test_a_mood_is_asked_for_again_after_a_while() -> None:
    pace, sizes = Pace(10), []
    for n in range(5 * BELIEVED):
        sizes.append(pace.note(refused=n < 200 and n % 5 == 0, sent=n, now=n))
        if n == 199:
            assert pace.mood > 0.1
    assert pace.mood == 0
    assert sizes[-1] == 10


def test_of_a_service_that_is_out_one_call_is_asked_at_a_time_and_then_none_and_once_it_is_back_all() -> None:
    back = 400.0

    async def everything() -> tuple[list[tuple[float, int]], list[tuple[float, int]], int]:
        service = Service("s", Limits(), in_flight=32, shortest=0.5, longest=120.0)
        began, asked, sizes = now(), [], []

        async def caller() -> None:
            while now() - began < 500:
                call = await service.start(1)
                asked.append((now() - began, service.slots.size))
                await asyncio.sleep(1)
                out = 300 <= call.sent - began < back
                service.done(call, tokens=None, trouble=REFUSED if out else None)
                sizes.append((now() - began, service.slots.size))

        done = await asyncio.gather(*(caller() for _ in range(64)), return_exceptions=True)
        return asked, sizes, sum(isinstance(e, ServiceDownError) for e in done)

    asked, sizes, down = run_fast(everything())
    assert sum(when > 301 for when, _ in asked) == 1, "a whole round trip failed: it is tried once more, alone"
    assert min(size for when, size in sizes if when <= 302) == 1
    assert down == 64
    back = 325.0
    asked, sizes, down = run_fast(everything())
    assert down == 0
    assert next(size for when, size in sizes if when > 325) == 1, "it begins with one call"
    assert next(when for when, size in sizes if when > 325 and size >= 16) < 365, "and has half as many as before soon"
    assert sizes[-1][1] == 32
