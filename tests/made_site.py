"""A store with rows of every protocol, so that the site that is built from it has a page of every kind."""

from pathlib import Path

from builders.splits import make_split
from evaluators.estimate import LIKE, RANKED, estimate_split
from evaluators.store import Store
from evaluators.values import Decoding, Model
from leaderboard.published import read_published
from tests import made_board, test_case_boards, test_novel_boards, test_soup_boards
from tests.made import SOURCE, riddle
from tests.made_board import FORMULA, IMAGE
from tests.made_runs import made_run

# A board with categories, prices, dates, makers, weights and reasoning: every filter has something to choose from.
RICH = "sample-vlm"
CATEGORIES = ("logic", "sliding_tiles")
POINTS = "points=ffffffff"
NAMES = (f"rich/{IMAGE}", "rich/b", "rich/c", FORMULA)


def fill_every(store: Store, root: Path) -> None:
    """Put rows of every protocol into a store, hostile names among them.

    Args:
        store: An empty one.
        root: Where the split of cases may be written.
    """
    made_board.fill(store)
    test_soup_boards.fill(store)
    test_novel_boards.fill(store)
    test_case_boards.fill(store, root)
    test_case_boards.write(
        store, "Cheap", test_case_boards.every(1), cost_usd=0.2, release_date="2025-01-10", model=FORMULA
    )
    fill_soups(store)
    fill_rich(store)
    _fill_sealed(store)
    # A paper's row beside its evidence, for the page of tables that are read again.
    paper = next(p for p in read_published() if p.split == "layton-vlm")
    again = made_run("again", ["3+"] * 12 + ["0-"] * 4, split=paper.split, model=paper.model, condition=paper.condition)
    store.write_submission(*again, tier="released")


def fill_soups(store: Store) -> None:
    """Two players in two languages, and a third in Chinese alone; the names of its runs are nobody else's."""
    for split, points in (("sample-soup-en", "points=eeeeeeee"), ("sample-soup-zh", POINTS)):
        items = [s for s in test_soup_boards.EVERY if split.endswith(s.language)]
        made = make_split(split, items, version="1.0.0", sources=[SOURCE])
        store.write_split(made.manifest, made.items)
        agent = {"condition": f"agent=full;responder=openai/host;{points}", "split": split}
        scores = ([0.5] * 6 + [0.9] * 6, [0.4] * 12, [0.7] * 12)
        for name, own in zip(("Good", IMAGE, "Late")[: 2 + (split[-2:] == "zh")], scores, strict=False):
            test_soup_boards.write(store, f"{split}-{name[:4].strip('<')}", own, model=name, **agent)


def fill_rich(store: Store) -> None:
    """A board of riddles of two categories; `rich/b` is best at one and worst at the other."""
    items = [riddle(n).model_copy(update={"category": CATEGORIES[n % 2]}) for n in range(24)]
    split = make_split(RICH, items, version="1.0.0", sources=[SOURCE])
    store.write_split(split.manifest, split.items)
    spelled = (
        ["3+", "3+", "3", "2+"] * 5 + ["0-", "1-", "3", "3+"],
        ["3+", "0-", "3+", "0-", "3", "0"] * 4,
        ["0-", "3+", "1-", "2+", "0", "3+"] * 4,
        ["0-", "1", "0", "3+"] * 6,
    )
    for n, (name, attempts) in enumerate(zip(NAMES, spelled, strict=True)):
        fields = {"cost_usd": 0.05 * 4**n, "release_date": f"2025-0{n + 1}-10", "date": f"2026-0{n + 1}-10"}
        thinking = Decoding(reasoning_effort="high" if n % 2 else None)
        run = made_run(f"rich-{n}", attempts, split=RICH, benchmark="samples", open_weights=n > 1, **fields)
        model = Model(name=name, provider=f"maker{n % 2}", decoding=thinking)
        store.write_submission(run.submission.model_copy(update={"model": model}), *run[1:], tier="scored-here")


def _fill_sealed(store: Store) -> None:

    rows = [e for e in estimate_split(store, RICH, "1.0.0", "three", "hints=0") if e.estimand == LIKE]
    for stored in store.submissions(RICH):
        s = stored.submission
        own = [e for e in rows if e.submission_id == s.submission_id and e.tier in RANKED][:1]
        new = {"submission_id": f"sealed-{s.submission_id}"}
        store.write_sealed(s.model_copy(update=new), [e.model_copy(update=new) for e in own], tier="scored-here")
