"""The novels in flight: each is loaded when its first question is asked and let go after its last."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

# A paragraph is its label in the novel's text, from 1, and its words.
Paragraph = tuple[int, str]
Fetch = Callable[[str], Sequence[Paragraph]]


class Shelf:
    """Holds a novel while its questions run.

    Args:
        fetch: Loads the paragraphs of one novel by its key.
        uses: The key of every use that is to come, as often as it will be taken and put back.
    """

    def __init__(self, fetch: Fetch, uses: Iterable[str]) -> None:
        self._fetch = fetch
        self._left = Counter(uses)
        self._open: dict[str, tuple[Paragraph, ...]] = {}
        self.loaded: Counter[str] = Counter()
        self.most_open = 0

    def take(self, key: str) -> tuple[Paragraph, ...]:
        """The paragraphs of a novel, read from disk only where no question of it is running."""
        if key not in self._open:
            self._open[key] = tuple(self._fetch(key))
            self.loaded[key] += 1
            self.most_open = max(self.most_open, len(self._open))
        return self._open[key]

    def put_back(self, key: str) -> None:
        """Say that one use is over; after the last the novel is let go."""
        self._left[key] -= 1
        if self._left[key] <= 0:
            self._open.pop(key, None)
