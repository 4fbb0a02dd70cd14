"""Standings of a board: whatever part of a split was attempted, every row has its estimates and categories."""

from pathlib import Path

import pytest

from evaluators.store import open_store
from leaderboard.standings import standings
from tests.made import made_split
from tests.made_runs import made_run


@pytest.mark.parametrize("attempted", [3, 6])
def test_items_at_the_end_of_a_split_that_nobody_attempted_are_in_no_category(tmp_path: Path, attempted: int) -> None:
    split = made_split()
    items = tuple(
        item.model_copy(update={"id": f"r-{n:03}", "cluster": f"r-{n:03}", "category": ("odd", "even", "last")[n // 2]})
        for n, item in enumerate(split.items)
    )
    named = {"split": "sample-llm", "benchmark": "samples", "jury": "tiny"}
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_split(split.manifest, items)
        store.write_submission(
            *made_run("own", ["3+", "0-", "2+", "1-", "3+", "0-"][:attempted], **named), tier="scored-here"
        )
        found = standings(store, "sample-llm", "1.0.0", "tiny", ["hints=0"])["hints=0"]
    categories = {e.metric.partition("/")[2] for e in found.estimates if "/" in e.metric}
    assert categories == ({"odd", "even", "last"} if attempted == 6 else {"odd", "even"})
    assert all(0 <= e.low <= e.value <= e.high <= 1 for e in found.estimates if "/" in e.metric)
