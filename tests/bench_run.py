"""make bench-run: what a call costs the client, beside its peers, and how time and memory grow with a run.

The clients share a process and take turns against a loopback server on the other core; CPU counts from after imports
and a few calls that warm up. `DEERSTALKER_INSPECT` names an environment that has inspect-ai (its OpenAI client
conflicts with litellm's); without it that line is left out.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

WORDS = "A man walks into a room and finds that every clock in it shows another time, and none of them is wrong. "
WARM_UP = 64  # calls
PARTS = 5
ROOT = Path(__file__).resolve().parent.parent


class Line(NamedTuple):
    what: str
    calls: int
    cpu: float  # seconds
    wall: float  # seconds

    @property
    def per_call(self) -> float:
        return 1000 * self.cpu / self.calls


# The server, in a process of its own.


def serve(latency: float) -> None:
    from tests.servers.model_server import Answer, ModelServer

    with ModelServer(lambda *_: Answer(seconds=latency), keep=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()


class Server:
    """The server as a child; `url` is where it is."""

    def __init__(self, latency: float) -> None:
        command = [sys.executable, "-m", "tests.bench_run", "--serve", str(latency)]
        self._child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._child.stdout
        self.url = self._child.stdout.readline().strip()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.communicate()


# The clients, each in a process of its own.


class Made(Sequence[Any]):
    """Riddles that are made when they are asked for: what the samples themselves take is not the run's memory."""

    def __init__(self, samples: int) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return self._samples

    def __getitem__(self, at: Any) -> Any:
        from tests.made import riddle

        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(self._samples))]
        if not 0 <= at < self._samples:
            raise IndexError(at)
        # About 600 tokens with the rest of the prompt.
        return riddle(at).model_copy(update={"id": f"r-{at:06}", "description": f"{at}: {WORDS * 22}"})


class Todo(Sequence[Any]):
    """The same as attempts to make."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: Any) -> Any:
        return (self._items[at], 0)


def bodies(items: Sequence[Any]) -> list[dict[str, Any]]:
    from evaluators.models import strict_schema, wire
    from evaluators.prompts import Prompt
    from evaluators.protocols import riddle
    from evaluators.protocols.riddle import SolverReply

    solver = Prompt("riddle/solver")
    asked = (riddle.solver_messages(item, hints=0, prompt=solver) for item in items)
    return [{"messages": [wire(m) for m in one], "response_format": strict_schema(SolverReply)} for one in asked]


async def at_once(call: Callable[[Any], Awaitable[Any]], some: Sequence[Any], flight: int) -> None:
    slots = asyncio.Semaphore(flight)

    async def one(given: Any) -> None:
        async with slots:
            await call(given)

    await asyncio.gather(*(one(given) for given in some))


class Aiohttp:
    """The floor: the same requests over aiohttp, replies parsed and thrown away."""

    def __init__(self, url: str, flight: int, folder: Path) -> None:
        self.url, self.flight = url, flight

    async def run(self, items: Sequence[Any]) -> int:
        import aiohttp

        asked = bodies(items)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=self.flight)) as session:

            async def call(body: dict[str, Any]) -> None:
                async with session.post(f"{self.url}/chat/completions", json={"model": "any", **body}) as response:
                    assert (await response.json())["choices"]

            await at_once(call, asked, self.flight)
        return len(items)


class Litellm:
    """The same requests through litellm alone, replies thrown away."""

    route = "openai"

    def __init__(self, url: str, flight: int, folder: Path) -> None:
        self.url, self.flight = url, flight

    async def run(self, items: Sequence[Any]) -> int:
        from evaluators.models import _litellm

        litellm = _litellm()
        common = {"api_base": self.url, "api_key": "none", "timeout": 600, "max_retries": 0, "num_retries": 0}

        async def call(body: dict[str, Any]) -> None:
            reply = await litellm.acompletion(model=f"{self.route}/any", **common, **body)
            assert reply.choices

        await at_once(call, bodies(items), self.flight)
        return len(items)


class LitellmVllm(Litellm):
    route = "hosted_vllm"


class Ours:
    """The runner as a run has it: prompts, journal on disk, replies read, transcripts and verdicts kept, progress."""

    judges = 0

    def __init__(self, url: str, flight: int, folder: Path) -> None:
        from evaluators.jury import panel_of, seats_for
        from evaluators.prompts import Prompt
        from evaluators.values import Model

        self.flight, self.folder, self.opened = flight, folder, 0
        self.model = Model(name="openai/any", provider="maker", api_base=url)
        self.seats = seats_for(panel_of("a:openai/j1,b:openai/j2,c:openai/j3", api_base=url), "maker")
        self.solver, self.judge = Prompt("riddle/solver"), Prompt("riddle/judge")

    async def run(self, items: Sequence[Any]) -> int:
        from evaluators.journal import Journal
        from evaluators.progress import progress
        from evaluators.run import calm_collector, run_attempts
        from evaluators.runner import Runner

        self.opened += 1
        # A command has the collector so from its first call to its last; the other clients here have Python's own.
        with calm_collector(), Journal(self.folder / type(self).__name__ / f"{self.opened}.jsonl") as journal:
            runner = Runner(journal, concurrency=self.flight)
            with progress(len(items), runner.tally, what="bench") as display:
                runner.on_change = display.show
                outcome = await run_attempts(
                    Todo(items),
                    solve=partial(self._solve, runner),
                    judge=partial(self._mark, runner),
                    workers=self.flight,
                    sealed=False,
                    on_done=display.done,
                )
        assert len(outcome.transcripts) == len(items)
        assert all(t.failure is None for t in outcome.transcripts)
        assert sum(v.score is not None for v in outcome.verdicts) == self.judges * len(items)
        return runner.tally.calls

    async def _solve(self, runner: Any, item: Any, epoch: int) -> Any:
        from evaluators.heading import Heading
        from evaluators.protocols import riddle

        setup = riddle.Setup(Heading("bench", "sample-llm@1.0.0", self.model, "riddle", "hints=0"), 0, self.solver)
        return await riddle.solve(item, runner.complete(self.model, epoch=epoch), epoch=epoch, setup=setup)

    async def _mark(self, runner: Any, item: Any, transcript: Any) -> Any:
        from evaluators.jury import deliberate
        from evaluators.protocols.riddle.marking import riddle_marking

        if not self.judges:
            return ()
        return await deliberate(item, transcript, runner, seats=self.seats, how=riddle_marking(self.judge))


class OursJudged(Ours):
    judges = 3


CLIENTS: dict[str, Any] = {
    "bare aiohttp": Aiohttp,
    "bare litellm, openai/": Litellm,
    "bare litellm, hosted_vllm/": LitellmVllm,
    "ours, solver only": Ours,
    "ours, solver and 3 judges": OursJudged,
}


async def measure(names: Sequence[str], url: str, samples: int, flight: int) -> list[Line]:
    """Let clients take turns, a part of the samples each time, so that what else the machine does meets all alike."""
    items, total = Made(samples), {name: [0, 0.0, 0.0] for name in names}
    part = max(flight, samples // PARTS)
    with tempfile.TemporaryDirectory() as scratch:
        clients = {name: CLIENTS[name](url, flight, Path(scratch)) for name in names}
        for one in clients.values():
            await one.run(Made(WARM_UP))
        for first in range(0, samples, part if len(names) > 1 else samples):
            some = items[first : first + part] if len(names) > 1 else items
            for name, one in clients.items():
                cpu, wall = time.process_time(), time.monotonic()
                calls = await one.run(some)
                for n, spent in enumerate((calls, time.process_time() - cpu, time.monotonic() - wall)):
                    total[name][n] += spent
    return [Line(name, int(calls), cpu, wall) for name, (calls, cpu, wall) in total.items()]


INSPECT = """
import json, resource, sys, tempfile, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.solver import generate
url, flight, asked = sys.argv[1], int(sys.argv[2]), json.load(sys.stdin)
KINDS = {"system": ChatMessageSystem, "user": ChatMessageUser}
samples = [Sample(input=[KINDS[m["role"]](content=m["content"]) for m in one["messages"]]) for one in asked]
model = get_model("openai/any", base_url=url, api_key="none", responses_api=False)
def run(some):
    task = Task(dataset=some, solver=generate())
    with tempfile.TemporaryDirectory() as logs:
        (log,) = eval(task, model=model, max_connections=flight, max_samples=flight, display="none", log_dir=logs)
    assert log.status == "success", log.error
run(samples[:20])
cpu, wall = time.process_time(), time.monotonic()
run(samples)
print(json.dumps([time.process_time() - cpu, time.monotonic() - wall, len(samples)]))
"""


class Child(NamedTuple):
    lines: list[Line]
    peak: float  # MB, the largest the process ever was


def child(names: Sequence[str], url: str, samples: int, flight: int) -> Child:
    """Measure clients in a process of their own."""
    words = [sys.executable, "-m", "tests.bench_run", "--client", json.dumps(names), url, str(samples), str(flight)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{', '.join(names)}: {done.stderr[-2000:]}")
    lines, peak = json.loads(done.stdout.strip().splitlines()[-1])
    return Child([Line(*line) for line in lines], peak)


def inspect_ai(python: str, url: str, samples: int, flight: int) -> Line:
    words = [python, "-c", INSPECT, url, str(flight)]
    asked = json.dumps(bodies(Made(samples)))
    done = subprocess.run(words, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"inspect-ai: {done.stderr[-2000:]}")
    cpu, wall, calls = json.loads(done.stdout.strip().splitlines()[-1])
    return Line("inspect-ai", calls, cpu, wall)


def side_by_side(samples: int = 1000, flight: int = 64) -> None:
    inspect = os.environ.get("DEERSTALKER_INSPECT")
    print(f"\n{samples:,} samples of about 600 tokens, {flight} in flight, 50 ms, taking turns", flush=True)
    with Server(0.05) as server:
        lines = child(list(CLIENTS), server.url, samples, flight).lines
        if inspect:
            lines.append(inspect_ai(f"{inspect}/bin/python", server.url, samples, flight))
    for line in lines:
        print(f"  {line.what:28}{line.per_call:7.2f} ms CPU a call {line.calls:6,} calls {line.wall:6.1f} s")
    if not inspect:
        print("  inspect-ai: not measured, DEERSTALKER_INSPECT names no environment that has it")
    cost = {line.what: line.per_call for line in lines}
    for mine in ("ours, solver only", "ours, solver and 3 judges"):
        others = [other for other in cost if other.startswith(("bare litellm", "inspect"))]
        print(f"  {mine}: {', '.join(f'{cost[mine] / cost[other]:.2f} x {other}' for other in others)}", flush=True)


def many_in_flight(samples: int = 2560, flight: int = 256, latency: float = 2.0) -> None:
    print(f"\n{samples:,} samples, {flight} in flight, {latency:g} s", flush=True)
    with Server(latency) as server:
        (line,) = child(["ours, solver only"], server.url, samples, flight).lines
    ideal = samples * latency / flight
    share = f"{100 * ideal / line.wall:.0f} % of the ideal {ideal:.1f} s"
    print(f"  {line.what:28}{line.per_call:7.2f} ms CPU a call {line.wall:6.1f} s, {share}", flush=True)


def memory(sizes: tuple[int, ...], what: str) -> None:
    print(f"\nMemory, {what}, 64 in flight, no latency", flush=True)
    with Server(0.0) as server:
        for samples in sizes:
            found = child([what], server.url, samples, 64)
            print(f"  {samples:6,} samples: peak {found.peak:.0f} MB, {found.lines[0].wall:.0f} s", flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--serve", type=float, metavar="LATENCY", help=argparse.SUPPRESS)
    p.add_argument("--client", nargs=4, metavar=("NAMES", "URL", "SAMPLES", "FLIGHT"), help=argparse.SUPPRESS)
    p.add_argument("--only", choices=("calls", "flight", "memory"), help="one part of it")
    p.add_argument("--judges", action="store_true", help="memory with juries, too: 88,000 calls more")
    options = p.parse_args()
    if options.serve is not None:
        return serve(options.serve)
    if options.client:
        names, url, samples, flight = options.client
        lines = asyncio.run(measure(json.loads(names), url, int(samples), int(flight)))
        return print(json.dumps([lines, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
    if options.only in (None, "calls"):
        side_by_side()
    if options.only in (None, "flight"):
        many_in_flight()
    if options.only in (None, "memory"):
        memory((2000, 20_000), "ours, solver only")
        if options.judges:
            memory((2000, 20_000), "ours, solver and 3 judges")
    return None


if __name__ == "__main__":
    main()
