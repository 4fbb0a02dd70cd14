"""Shares of a run: which worker does which items, with which part of the limits, and into which journal."""

import argparse
import heapq
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from builders.values import Item
from evaluators.engines import Divisible
from evaluators.engines.purse import lost_usd
from evaluators.journals import RUN, WORKERS, WorkerJournal, paid_usd, worker_journals
from evaluators.limits import Limits
from evaluators.protocols import Play
from evaluators.run import run_calls
from evaluators.runner import MoneySpentError

if TYPE_CHECKING:
    from evaluators.runner import Runner
    from evaluators.session import Session

MOST_LIVES = 3  # a share that lost three workers would lose a fourth


class ShareError(ValueError):
    """A run cannot be shared out, or a worker was given another run than its own checkout makes of the options."""


class Share(NamedTuple):
    """The part of a run that one worker does; what has to be known on its machine."""

    number: int
    items: tuple[str, ...]
    options: argparse.Namespace
    home: Path  # working directory that the paths in `options` start from
    folder: Path  # of the run
    submission: str  # name that the worker must arrive at, too
    workers: int  # at work at once: each keeps to this part of every limit

    def journal(self, life: int) -> Path:
        """Where the worker writes; each life of a share has a journal of its own, so that none waits for a lock."""
        return self.folder / WORKERS / f"{self.number:04}-{life}.jsonl"


class News(NamedTuple):
    """What a worker has done so far."""

    done: int
    calls: int
    journalled: int
    cost_usd: float
    unpriced: int
    retries: Counter[str]
    failed: Counter[str]


def divisible(play: Play) -> Divisible:
    """The play, if its items can be shared out.

    Raises:
        ShareError: If they cannot.
    """
    if not isinstance(play, Divisible):
        raise ShareError("this protocol plays in one process; leave out --processes and --engine")
    return play


def deal(items: Sequence[Item], ways: int) -> tuple[tuple[str, ...], ...]:
    """Deal items into at most `ways` shares of about the same size; items of one cluster stay together.

    What one cluster has in common (a novel, say) is then read and cached by one worker.
    """
    clusters: dict[str, list[str]] = {}
    for item in items:
        clusters.setdefault(item.cluster, []).append(item.id)
    hands: list[tuple[int, int, list[str]]] = [(0, number, []) for number in range(ways)]
    for ids in sorted(clusters.values(), key=len, reverse=True):
        size, number, hand = hands[0]
        heapq.heapreplace(hands, (size + len(ids), number, hand + ids))
    return tuple(tuple(hand) for _, _, hand in sorted(hands, key=lambda hand: hand[1]) if hand)


def deal_out(session: "Session", *, workers: int, shares_each: int) -> tuple[Share, ...]:
    """Cut a run into shares; `workers` of them at work at once stay within the limits of the whole.

    Raises:
        ShareError: If the protocol cannot be shared out.
    """
    options = session.options
    workers = min(workers, options.concurrency, *(most for one in session.limits.values() for most in _numbers(one)))
    hands = deal(divisible(session.play).items, workers * shares_each)
    left = left_usd(session)
    made = []
    for number, items in enumerate(hands):
        # Any `workers` shares may be at work at once: only with one share each may the rest of the division go out.
        rest = number < options.concurrency % workers if shares_each == 1 else 0
        part = argparse.Namespace(**vars(options))
        part.concurrency = options.concurrency // workers + rest
        part.max_cost = None if left is None else left / len(hands)
        made.append(Share(number, items, part, Path.cwd(), session.folder.resolve(), session.name, workers))
    return tuple(made)


def left_usd(session: "Session") -> float | None:
    """What a run may still cost; None where it has no cap."""
    if session.options.max_cost is None:
        return None
    spent = paid_usd([session.folder / RUN]) + lost_usd(session.folder)
    return max(0.0, float(session.options.max_cost) - spent)


def later_life(share: Share) -> Share:
    """A share whose worker died, for another: what earlier lives spent was of the same part of the money."""
    if share.options.max_cost is None:
        return share
    earlier = [path for path in worker_journals(share.folder) if path.name.startswith(f"{share.number:04}-")]
    return with_money(share, max(0.0, share.options.max_cost - paid_usd(earlier)))


def with_money(share: Share, usd: float) -> Share:
    """A share that may cost so much."""
    return share._replace(options=argparse.Namespace(**vars(share.options) | {"max_cost": usd}))


def work(
    share: Share,
    journal: Path,
    others: Sequence[Path],
    tell: Callable[[News], None],
) -> None:
    """Do a share: solve and judge its items, every reply into `journal`.

    A share that has spent its part of the money ends well before its items do: the run itself goes on with what others
    left of theirs.

    Raises:
        ShareError: If the options make another run here than where the share was dealt.
    """
    from builders.splits import load_split
    from evaluators.session import open_session

    os.chdir(share.home)
    options = share.options
    split = load_split(options.split, root=options.splits)
    session = open_session(options, split, refuse=_refuse)
    if session.name != share.submission:
        raise ShareError(
            f"this machine makes {session.name} of the run {share.submission}: its checkout, split or prompts differ"
        )
    session = session._replace(limits={who: _part(one, share.workers) for who, one in session.limits.items()})
    play = session.play
    play.read(session.name)
    play.prepare()
    divisible(play).only(frozenset(share.items))
    with WorkerJournal(journal, others=others) as own:
        runner, done = session.runner(own), Counter[str]()

        def on_done() -> None:
            done["attempts"] += 1
            tell(_news(done["attempts"], runner))

        with suppress(MoneySpentError):
            run_calls(play.run(runner, key=session.name, on_done=on_done))


def _numbers(limits: Limits) -> list[int]:
    return [most for most in limits.model_dump().values() if most is not None]


def _part(limits: Limits, workers: int) -> Limits:
    """What one of several workers may ask: together they stay within the whole."""
    return Limits(**{k: None if most is None else most // workers for k, most in limits.model_dump().items()})


def readable(share: Share) -> tuple[Path, ...]:
    """Journals of the run that a worker may find replies in: the run's own, and those of lost workers."""
    return (share.folder / RUN, *worker_journals(share.folder))


def _news(done: int, runner: "Runner") -> News:
    t = runner.tally
    return News(done, t.calls, t.journalled, t.cost_usd, t.unpriced, t.retries, t.failed)


def _refuse(message: str) -> NoReturn:
    raise ShareError(message)
