"""What a person sees of several workers: one bar, one sum."""

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from evaluators.engines.purse import lost_usd
from evaluators.engines.shares import News
from evaluators.journals import RUN, paid_usd
from evaluators.progress import progress
from evaluators.runner import Tally

if TYPE_CHECKING:
    from evaluators.session import Session


class Watch:
    """Adds up what workers tell, and shows it; use as a context manager."""

    def __init__(self, session: "Session", *, workers: int) -> None:
        cap = session.options.max_cost
        before = paid_usd([session.folder / RUN]) + lost_usd(session.folder) if cap is not None else 0.0
        self._tally = Tally(most_usd=cap, paid_before_usd=before)
        self._news: dict[object, News] = {}
        self._done = 0
        self._open = ExitStack()
        self._expected, self._what = session.play.expected, f"{session.manifest.ref}, {workers} workers"

    def __enter__(self) -> Self:
        self._display = self._open.enter_context(progress(self._expected, self._tally, what=self._what))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def hear(self, worker: object, news: News) -> None:
        """Take what a worker has done so far."""
        self._news[worker] = news
        every, tally = self._news.values(), self._tally
        tally.calls, tally.journalled = sum(n.calls for n in every), sum(n.journalled for n in every)
        tally.cost_usd, tally.unpriced = sum(n.cost_usd for n in every), sum(n.unpriced for n in every)
        tally.retries, tally.failed = _add(n.retries for n in every), _add(n.failed for n in every)
        # A share that is done again counts its attempts again: the bar stops at its end.
        for _ in range(self._done, min(self._expected, sum(n.done for n in every))):
            self._done += 1
            self._display.done()
        self._display.show()


def _add(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total
