"""A large store made in SQL: python -m tests.bench_store OUT.duckdb [--models 1000] [--items 500] [--boards 4]

Every answer has three votes; about sixty of each model's have a person's mark, too. Names, answers and reasons are
made up and short.
"""

import argparse
import sys
from datetime import date, timedelta
from pathlib import Path

import duckdb

from builders.splits import make_split
from builders.values import Riddle, Source
from evaluators.store import Store, open_store
from evaluators.values import Counts, Decoding, Model, Submission, Usage

MAKERS = tuple(f"maker-{n}" for n in range(1, 26))
SPLITS = ("sample-llm", "sample-vlm", "layton-llm", "layton-vlm")
CATEGORIES = ("logic", "sums", "words", "pictures", "tricks", "paths")
SOURCE = Source(title="made", url="file:tests", licence="CC-BY-4.0", citation="tests")
# hash() of DuckDB gives the same number for the same values: the store is the same each time.
CHANCE = "(hash({}) % 1000003) / 1000003.0"
EVIDENCE = """
CREATE TEMP TABLE attempt AS
SELECT m.submission_id, m.ability, i.item_id, i.position AS place,
    row_number() OVER (PARTITION BY m.submission_id ORDER BY i.position) - 1 AS position,
    printf('%016x', hash(m.submission_id, i.item_id)) AS transcript_id,
    {truth} < 1 / (1 + exp(-(m.ability - 4 * ({hard} - 0.5)))) AS good
FROM made_models m, made_items i;
INSERT INTO transcripts SELECT submission_id, position, transcript_id, item_id, 0,
    'It is number ' || place || '.', 'The text says so in its ' || (1 + place % 7) || 'th line.', NULL, false, 0.002
FROM attempt ORDER BY submission_id, position;
CREATE TEMP TABLE vote AS
SELECT a.*, j.judge, j.n, ({luck} < if(a.good, 0.92, 0.08))::INT AS score
FROM attempt a, (SELECT unnest(['judge-a', 'judge-b', 'judge-c']) AS judge, unnest([0, 1, 2]) AS n) j;
INSERT INTO verdicts SELECT submission_id, 3 * position + n, transcript_id, judge, 'maker-' || n, 'model', 'item',
    score,
    if(score = 1, '{{"is_answer_correct": true, "is_justification_correct": true}}',
        '{{"is_answer_correct": false, "is_justification_correct": false}}'), NULL, NULL,
    'The answer names the number that the riddle asks for, and its reason holds.', 0.001
FROM vote ORDER BY submission_id, position, n;
INSERT INTO scores SELECT submission_id, transcript_id, 'both_correct', avg(score), false,
    '[' || string_agg('["' || judge || '", ' || score || '.0]', ', ' ORDER BY judge) || ']'
FROM vote GROUP BY submission_id, transcript_id, position ORDER BY submission_id, position;
CREATE TEMP TABLE known AS FROM attempt WHERE {labelled} < 60.0 / {items};
INSERT INTO verdicts SELECT submission_id, 3 * {items} + position, transcript_id, 'person-1', NULL, 'human', 'item',
    good::INT, if(good, '{{"is_answer_correct": true, "is_justification_correct": true}}',
        '{{"is_answer_correct": false, "is_justification_correct": false}}'), NULL, NULL, NULL, NULL
FROM known ORDER BY submission_id, position;
INSERT INTO labels SELECT submission_id, transcript_id, 'human', good::INT FROM known ORDER BY submission_id, position;
DROP TABLE known;
DROP TABLE vote;
DROP TABLE attempt;
"""


def fill(store: Store, models: int, items: int, splits: tuple[str, ...] = SPLITS) -> None:
    """Put `models` models with `items` answers each on every one of the splits into a store."""
    for split in splits:
        riddles = [_riddle(split, n) for n in range(items)]
        made = make_split(split, riddles, [], version="1.0.0", sources=[SOURCE])
        store.write_split(made.manifest, made.items)
        fill_board(store, split, range(models), items)


def fill_board(store: Store, split: str, models: range, items: int) -> None:
    """Put some more models on one split."""
    found = [(s, 1.5 * ((7919 * n) % 1009 / 504.5 - 1) + 0.5) for n in models for s in [submission(split, n, items)]]
    store.keep({"submissions": [_row(s) for s, _ in found]}, {"submission_id": "none"})
    store.query("CREATE OR REPLACE TEMP TABLE made_models(submission_id VARCHAR, ability DOUBLE)")
    store.query("CREATE OR REPLACE TEMP TABLE made_items AS SELECT * FROM items WHERE split = ?", [split])
    values = ", ".join(f"('{s.submission_id}', {ability})" for s, ability in found)
    store.query(f"INSERT INTO made_models VALUES {values}")
    chance = {
        "truth": CHANCE.format("m.submission_id, i.item_id, 1"),
        "hard": CHANCE.format("i.item_id, 2"),
        "luck": CHANCE.format("a.transcript_id, j.n, 3"),
        "labelled": CHANCE.format("transcript_id, 4"),
    }
    for statement in EVIDENCE.format(**chance, items=items).split(";\n"):
        if statement.strip():
            store.query(statement)


def submission(split: str, n: int, items: int) -> Submission:
    """Model number n on a split."""
    day = date(2025, 1, 1) + timedelta(days=n % 700)
    maker = MAKERS[n % len(MAKERS)]
    return Submission(
        submission_id=f"{split}-{n:05}",
        benchmark="samples" if split.startswith("sample") else "layton",
        split=split,
        version="1.0.0",
        split_sha256=None,
        protocol="riddle",
        condition="hints=0",
        model=Model(
            name=f"{maker}/model-{n}",
            provider=maker,
            decoding=Decoding(reasoning_effort="high" if n % 3 == 0 else None),
        ),
        open_weights=n % 4 == 0,
        release_date=day.isoformat(),
        jury="three",
        judges=("judge-a", "judge-b", "judge-c"),
        date=(day + timedelta(days=9)).isoformat(),
        counts=Counts(expected=items, scored=items, no_answer=0, unjudged=0, failed=0, missing=0),
        usage=Usage(input_tokens=300 * items, output_tokens=(200 + n) * items),
        cost_usd=items * 0.0004 * (1 + n % 97),
    )


def _row(s: Submission) -> tuple[object, ...]:
    placed = (s.benchmark, s.split, s.version, s.condition, s.model.name, s.model.provider, s.jury, s.date)
    return (s.submission_id, s.kind, "scored-here", *placed, s.model_dump_json())


def _riddle(split: str, n: int) -> Riddle:
    return Riddle(
        id=f"{split}-{n:03}",
        cluster=f"{split}-{n:03}",
        category=CATEGORIES[n % len(CATEGORIES)],
        description=f"Made riddle {n}: a number is hidden in this line, and it is {n}. Which number is it?",
        answer=str(n),
        justification="The line says it.",
    )


def main(argv: list[str] | None = None) -> int:
    """Make the store anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--boards", type=int, default=4)
    options = parser.parse_args(argv)
    options.out.unlink(missing_ok=True)
    try:
        with open_store(options.out) as store:
            fill(store, options.models, options.items, SPLITS[: options.boards])
    except duckdb.Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
