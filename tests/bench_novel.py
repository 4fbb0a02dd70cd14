"""Novels of 360k tokens: what a run costs beside a bare litellm loop that sends the same bytes.

    python -m tests.bench_novel

Twenty synthetic novels and 200 questions at a concurrency of 16, with a jury of three, against a server in another
process. Ours and the bare loop run one after the other, each in a process of its own.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from builders.novels import Paragraph, open_novels, paragraphs_sha256, write_novels
from builders.splits import load_split, make_split, write_split
from builders.values import NovelQuestion, Source
from evaluators.answers import NovelAnswer
from evaluators.models import count_tokens, strict_schema, wire
from evaluators.prompts import Prompt
from evaluators.protocols.novel.excerpt import as_text, visible
from evaluators.protocols.novel.forms import SolverReply, steps_found
from evaluators.protocols.novel.judge import judge_messages
from evaluators.protocols.novel.play import reading_order
from evaluators.protocols.novel.solve import solver_messages
from evaluators.values import Message, Model
from tests.made_novel import novel_question

NOVELS, QUESTIONS, TOKENS, WORKERS = 20, 200, 360_000, 16
STEPS = ("She knew the garden.", "So it was she.")
# One reply that solver and judges can all read.
REPLY = json.dumps({"reasoning": STEPS, "answer": "B", "explanation": "Some of it.", "found": [1]})
TEXT = """
    the a and of in to he she it was had that with his her for at from by on as not but were who when said into upon
    house garden letter candle window station inspector doctor evening morning murder clock door stairs library
    silence question answer nothing somebody before after through against between remembered noticed
"""


def novel(rng: np.random.Generator, paragraphs: int) -> tuple[Paragraph, ...]:
    """Text without sense and with the weight of a novel."""
    return tuple(Paragraph(n, " ".join(rng.choice(TEXT.split(), size=95)) + ".") for n in range(1, paragraphs + 1))


def build(root: Path) -> float:
    """Write the split with its novels; returns the tokens of a novel."""
    rng = np.random.default_rng(2024)
    model = Model(name="openai/solver", provider="maker")
    sample = novel(rng, 200)
    each = count_tokens(model, [Message(role="user", text=as_text(sample))]) / 200
    length = round(TOKENS / each)
    texts = {f"en/{n}": novel(rng, length) for n in range(NOVELS)}
    items = [
        novel_question(
            q,
            novel=n,
            question=f"Who left house {n} in chapter {q}?",  # else equal questions to a judge would be asked once
            novel_sha256=paragraphs_sha256(texts[f"en/{n}"]),
            answer_position=length - 20 * (q + 1),
            evidence_position=(length // 10, length // 2, -1),
        )
        for n in range(NOVELS)
        for q in range(QUESTIONS // NOVELS)
    ]
    source = Source(title="t", url="file:t", licence="CC-BY-4.0", citation="c")
    split = make_split("sample-novel", items, version="1.0.0", sources=[source])
    write_split(split, root=root, also=lambda folder: write_novels(texts.items(), split, folder))
    return length * each


async def serve() -> None:
    """Answer every request at once and count its bytes; `GET /stats` says them."""
    total = 0

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal total
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                size = next((int(x.split(":")[1]) for x in head.lower().split("\r\n") if "content-length" in x), 0)
                left = size
                while left:
                    left -= len(await reader.read(min(left, 2**18)))
                total += size
                message = {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
                usage = {"prompt_tokens": size // 4, "completion_tokens": 40, "total_tokens": size // 4 + 40}
                body: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
                body |= {"choices": [message], "usage": usage}
                said = str(total).encode() if head.startswith("GET") else json.dumps(body).encode()
                start = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
                writer.write(start.encode() + said)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=256, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def ours(root: Path, url: str) -> dict[str, float]:
    """The run itself, as `evaluators.submit` makes it."""
    from evaluators.session import open_session
    from evaluators.submit import parser

    options = ["--model", "openai/solver", "--provider", "maker", "--api-base", url, "--concurrency", str(WORKERS)]
    options += ["--judges", "a:openai/j1,b:openai/j2,c:openai/j3", "--judge-api-base", url]
    options += ["--split", "sample-novel", "--splits", str(root), "--out", str(root / "out")]
    began = time.perf_counter()
    session = open_session(parser().parse_args(options), load_split("sample-novel", root=root), refuse=sys.exit)
    counted, cpu = time.perf_counter(), time.process_time()
    bundle = session.run()
    seconds, cpu = time.perf_counter() - counted, time.process_time() - cpu
    assert bundle.submission.counts.scored == QUESTIONS, bundle.submission.counts
    shelf = session.play.shelf  # type: ignore[attr-defined]
    return {
        "counting_seconds": counted - began,
        "seconds": seconds,
        "cpu": cpu,
        "loads": max(shelf.loaded.values()),
        "open": shelf.most_open,
    }


def requests(root: Path) -> Iterator[tuple[str, tuple[Message, ...], dict[str, Any]]]:
    """Model, messages and schema of every call of the run, made as they are taken."""
    split = load_split("sample-novel", root=root)
    novels = open_novels(split, root=root, in_flight=NOVELS)
    solver, judge = (Prompt(f"novel/en/{part}") for part in ("solver", "judge"))
    answer = NovelAnswer(kind="novel", letter="B", steps=STEPS)
    for item in reading_order([i for i in split.items if isinstance(i, NovelQuestion)]):
        text = as_text(visible(item, novels.paragraphs(item.novel), setting="context"))
        yield "openai/solver", solver_messages(item, text, setting="context", prompt=solver), strict_schema(SolverReply)
        asked = judge_messages(item, answer, prompt=judge)
        yield from ((f"openai/j{n}", asked, strict_schema(steps_found(len(item.reasoning)))) for n in (1, 2, 3))


def bare(root: Path, url: str) -> dict[str, float]:
    """litellm and nothing else: the same calls, as many at a time; replies are not even read."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.suppress_debug_info = True
    queue = requests(root)
    first = next(queue)  # loads what is needed before the clock starts

    async def work(todo: Iterator[tuple[str, tuple[Message, ...], dict[str, Any]]]) -> None:
        for model, messages, schema in todo:
            await litellm.acompletion(
                model=model,
                messages=[wire(m) for m in messages],
                response_format=schema,
                api_base=url,
                api_key="none",
                timeout=600,
                max_retries=0,
                num_retries=0,
            )

    async def everything() -> None:
        todo = chain([first], queue)
        await asyncio.gather(*(work(todo) for _ in range(WORKERS)))

    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(everything())
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def child(what: str, root: Path, url: str) -> dict[str, float]:
    """Run one side in a process of its own; adds its peak memory in MB and the bytes that arrived."""
    from urllib.request import urlopen

    before = int(urlopen(f"{url}/stats").read())
    command = [sys.executable, "-m", "tests.bench_novel", what, str(root), url]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found | {"bytes": int(urlopen(f"{url}/stats").read()) - before}


def run() -> None:
    """Build, run both sides, and print."""
    print(f"\nNovels: {NOVELS} of {TOKENS:,} tokens, {QUESTIONS} questions, concurrency {WORKERS}", flush=True)
    calls = 4 * QUESTIONS
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        tokens = build(root)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.bench_novel", "serve"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            one = child("ours", root, url)
            other = child("bare", root, url)
        finally:
            server.terminate()
            server.wait()
    print(f"  tokens of a novel         {tokens:12,.0f}")
    print(f"  bytes sent, ours / bare   {one['bytes']:12,.0f} / {other['bytes']:,.0f}")
    print(f"  peak memory, ours         {one['peak_mb']:12,.0f} MB   (bare {other['peak_mb']:,.0f} MB)")
    print(f"  loads of a novel, at most {one['loads']:12.0f}      ({one['open']:.0f} novels open at once)")
    print(f"  counting tokens before    {one['counting_seconds']:12.1f} s")
    for name in ("seconds", "cpu"):
        ratio = one[name] / other[name]
        each = [f"{1000 * side[name] / calls:.1f}" for side in (one, other)]
        print(f"  {name} a call, ours / bare {each[0]:>10} / {each[1]} ms = {ratio:.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        run()
    elif sys.argv[1] == "serve":
        asyncio.run(serve())
    else:
        side = {"ours": ours, "bare": bare}[sys.argv[1]]
        measured = side(Path(sys.argv[2]), sys.argv[3])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(measured | {"peak_mb": peak}))
