"""The novels in flight: each is loaded when its first question is asked and let go after its last."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from evaluators.protocols.novel.excerpt import Paragraph
from evaluators.protocols.novel.quotes import flat

Fetch = Callable[[str], Sequence[Paragraph]]


class Novel(NamedTuple):
    """A novel that is read, and what passages are looked up in: made once, however many questions are asked."""

    paragraphs: tuple[Paragraph, ...] = ()
    words: str = ""  # from `flat`


def opened(paragraphs: Sequence[Paragraph]) -> Novel:
    """A novel with its words."""
    return Novel(tuple(paragraphs), flat(paragraphs))


class Shelf:
    """Holds a novel while its questions run.

    Args:
        fetch: Loads the paragraphs of one novel by its key.
        uses: The key of every use that is to come, as often as it will be taken and put back.
    """

    def __init__(self, fetch: Fetch, uses: Iterable[str]) -> None:
        self._fetch = fetch
        self._left = Counter(uses)
        self._open: dict[str, Novel] = {}
        self.loaded: Counter[str] = Counter()
        self.most_open = 0

    def take(self, key: str) -> Novel:
        """A novel, read from disk only where no question of it is running."""
        if key not in self._open:
            self._open[key] = opened(self._fetch(key))
            self.loaded[key] += 1
            self.most_open = max(self.most_open, len(self._open))
        return self._open[key]

    def put_back(self, key: str) -> None:
        """Say that one use is over; after the last the novel is let go."""
        self._left[key] -= 1
        if self._left[key] <= 0:
            self._open.pop(key, None)
