"""What the pages of items and models read from the store: attempts, votes and their reasons, of public splits only."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.scores import FULL_MARKS, METRICS
from evaluators.store import Store
from leaderboard.turns import turns

SHARD = 40  # submissions a file: a page of an item loads one such file at a time
PLAYED = 8  # where each of them is a game, turn by turn
_BATCH = 40  # items at a time, which bounds memory
# Longer texts are cut on pages, and say so; the bundle and the Parquet files have them whole.
_MOST = {"answer": 1200, "justification": 1600, "reply": 700}


class OpenSplit(NamedTuple):
    """A version of a split whose items may be shown one by one."""

    split: str
    version: str
    protocol: str
    language: str
    licence: str
    told: bool = True  # whether answers and reasons may be shown in words

    @property
    def headline(self) -> str:
        """The metric that says how well an answer did."""
        return METRICS[self.protocol][0]

    @property
    def most(self) -> float:
        """The most that it can be: 3 where answers are graded."""
        return FULL_MARKS.get(self.protocol, 1.0)

    @property
    def played(self) -> bool:
        """Whether an attempt is a game, with turns."""
        return self.protocol in ("soup", "case")

    @property
    def folder(self) -> str:
        """Folder of its pages."""
        return f"{self.split}-{self.version}"


class ItemRow(NamedTuple):
    """An item with what became of the attempts at it."""

    item_id: str
    category: str
    attempts: int
    scored: int
    mean: float | None  # mean score of the jury over all attempts that have one, in [0, 1]
    labels: int  # attempts that a person labelled
    right: float | None  # mean of those labels
    text: str | None  # the whole item as JSON; None: it may not be shown, or was never built here

    @property
    def band(self) -> str:
        """How hard the item was for the models that tried it."""
        if self.mean is None:
            return "not tried"
        return next(name for name, least in BANDS if self.mean >= least)

    @property
    def page(self) -> str:
        """Name of its page, without the folder."""
        return page_of(self.item_id)


BANDS = (("easy", 0.8), ("middling", 0.5), ("hard", 0.2), ("very hard", 0.0))


def page_of(item_id: str) -> str:
    """A file name for an item; ids that hold a slash get a digest, so that no two items share a page."""
    if "/" not in item_id:
        return item_id
    return f"{item_id.replace('/', '-')}-{sha256(item_id.encode()).hexdigest()[:6]}"


def slug(model: str) -> str:
    """A file name for a model: its letters where they are plain, and a digest, so that no two models share a page."""
    plain = re.sub(r"[^a-z0-9.]+", "-", model.lower()).strip("-.")[:60] or "model"
    return f"{plain}-{sha256(model.encode()).hexdigest()[:8]}"


def open_splits(store: Store) -> tuple[OpenSplit, ...]:
    """The splits whose items may be shown: public by their manifest.

    A split without a manifest here is public where its protocol has no sealed splits; of a case, nothing is shown
    that no manifest calls public. What was said about a puzzle or a novel is shown only where its own text is: of a
    release whose licence is not open there are numbers.
    """
    texts = set(store.query("SELECT DISTINCT split, version FROM puzzles").fetchall())
    manifests = {(m.split, m.version): m for m in store.splits()}
    query = "SELECT DISTINCT split, version FROM submissions WHERE kind = 'model' ORDER BY split, version"
    protocols = {(s.submission.split, s.submission.version): s.submission.protocol for s in store.submissions()}
    found = []
    for key in store.query(query).fetchall():
        manifest, protocol = manifests.get(key), protocols[key]
        told = protocol == "riddle" or key in texts
        if manifest is None and protocol != "case":
            found.append(OpenSplit(key[0], key[1], protocol, "", "", told))
        elif manifest is not None and manifest.visibility == "public":
            found.append(OpenSplit(key[0], key[1], protocol, manifest.language, manifest.licence, told))
    return tuple(found)


def items(store: Store, split: OpenSplit) -> tuple[ItemRow, ...]:
    """The items of a split, in its order, with what became of the attempts at them."""
    query = """
        WITH mine AS (SELECT submission_id FROM submissions WHERE split = $split AND version = $version
            AND kind = 'model' AND tier <> 'self-reported'),
        tried AS (SELECT t.item_id, count(*) AS attempts, count(c.value) AS scored, avg(c.value) AS mean,
                count(h.value) AS labels, avg(h.value) AS "right"
            FROM transcripts t JOIN mine USING (submission_id)
            LEFT JOIN (SELECT submission_id, transcript_id, value / $most::DOUBLE AS value FROM scores
                WHERE metric = $headline) c USING (submission_id, transcript_id)
            LEFT JOIN (SELECT submission_id, transcript_id, value FROM labels WHERE kind = 'human'
                UNION ALL SELECT submission_id, transcript_id, value / $most::DOUBLE FROM scores
                    WHERE metric = 'human ' || $headline) h USING (submission_id, transcript_id)
            GROUP BY t.item_id)
        SELECT coalesce(i.item_id, tried.item_id), coalesce(i.category, ''), coalesce(attempts, 0),
            coalesce(scored, 0), mean, coalesce(labels, 0), "right", p.item
        FROM tried
        FULL JOIN (FROM items WHERE split = $split AND version = $version) i ON i.item_id = tried.item_id
        LEFT JOIN (SELECT item->>'id' AS item_id, item FROM puzzles WHERE split = $split AND version = $version) p
            ON p.item_id = coalesce(i.item_id, tried.item_id)
        ORDER BY i.position, 1"""
    about = {"split": split.split, "version": split.version, "headline": split.headline, "most": str(split.most)}
    return tuple(ItemRow(*row) for row in store.query(query, about).fetchall())


# A shard is JSON of the form {"rows": [[slug, model, condition, tier, epoch, score, failure, answer, justification,
# votes], ...]} and a vote [judge, kind, score, failure, marks, reply]; marks are left out where all of them are right.
# Where there are more metrics than the headline, a row goes on with them, {metric: score}, and the turns of its game
# (leaderboard/turns.py). Scores are shares of full marks.
def shard_marks(store: Store, split: OpenSplit) -> dict[int, str]:
    """What each shard of a split is made from, by number: equal marks, equal files.

    A submission has its place by date and name, so a new one touches the last shard of each item and no other.
    """
    _place(store, split)
    return {n: ",".join(map(str, numbers)) for n, *numbers in store.query(_MARKS).fetchall()}


def shards(
    store: Store, split: OpenSplit, listed: tuple[ItemRow, ...], wanted: list[int]
) -> Iterator[tuple[str, int, str]]:
    """Yield (item, number of the shard, its JSON): all attempts at an item, with the votes and labels on each."""
    _place(store, split)
    store.query("DELETE FROM place WHERE NOT list_contains(?, shard)", [[str(n) for n in wanted]])
    if not wanted:
        return
    for start in range(0, len(listed), _BATCH):
        batch = [row.item_id for row in listed[start : start + _BATCH]]
        store.query("CREATE OR REPLACE TEMP TABLE batch AS SELECT unnest(?) AS item_id", [batch])
        columns = turns(store, split.split, split.version, split.protocol) if split.told else ([], [], [])
        store.query(_TURNED, list(columns))
        yield from ((item, int(n), text) for item, n, text in store.query(_select(split)).fetchall())


def _place(store: Store, split: OpenSplit) -> None:
    key = {"split": split.split, "version": split.version}
    rows = store.query("SELECT submission_id, model FROM submissions WHERE split = $split AND version = $version", key)
    names, models = map(list, zip(*rows.fetchall(), strict=True))
    slugs = [slug(model) for model in models]
    store.query(_SLUGS, [names, slugs])
    store.query(_PLACES.format(shard=PLAYED if split.played else SHARD), key)


def _cut(column: str, most: int) -> str:
    return f"if(length({column}) > {most}, {column}[:{most}] || ' […]', {column})"


_SLUGS = "CREATE OR REPLACE TEMP TABLE slugs AS SELECT unnest(?) AS submission_id, unnest(?) AS slug"
_TURNED = (
    "CREATE OR REPLACE TEMP TABLE turned AS SELECT unnest(?::VARCHAR[]) AS submission_id, "
    "unnest(?::VARCHAR[]) AS transcript_id, unnest(?::VARCHAR[]) AS turns"
)
_PLACES = """CREATE OR REPLACE TEMP TABLE place AS
    SELECT submission_id, slug, model, condition, tier,
        ((row_number() OVER (ORDER BY date, submission_id) - 1) // {shard})::VARCHAR AS shard
    FROM submissions JOIN slugs USING (submission_id)
    WHERE split = $split AND version = $version AND kind = 'model'"""
_MARKS = """
    WITH said AS (
        SELECT shard, hash(submission_id, slug, model, condition, tier) AS mark FROM place
        UNION ALL SELECT shard, hash(t) FROM transcripts t JOIN place USING (submission_id)
        UNION ALL SELECT shard, hash(v) FROM verdicts v JOIN place USING (submission_id)
        UNION ALL SELECT shard, hash(transcript_id, game) FROM games JOIN place USING (submission_id)
        UNION ALL SELECT shard, hash(transcript_id, stages) FROM stages JOIN place USING (submission_id)
        UNION ALL SELECT shard, hash(transcript_id, metric, c.value) FROM scores c JOIN place USING (submission_id))
    SELECT shard::INT, count(*), sum(mark)::VARCHAR FROM said GROUP BY 1 ORDER BY 1"""


def _select(split: OpenSplit) -> str:
    """The query for the shards of a batch."""
    words = [_cut(name, most) if split.told else "NULL" for name, most in _MOST.items()]
    # The letter of an option is no text of a novel's.
    words[0] = "answer" if split.protocol == "novel" else words[0]
    more, joined = "", ""
    if others := METRICS[split.protocol][1:]:
        more = ", coalesce(parts, '{}')::JSON, turns::JSON"
        named = ", ".join(f"'{name}'" for name in others)
        joined = f"""LEFT JOIN turned USING (submission_id, transcript_id)
    LEFT JOIN (SELECT submission_id, transcript_id,
            json_group_object(metric, round(value / {split.most}, 4))::VARCHAR AS parts
        FROM (FROM scores SEMI JOIN mine USING (submission_id, transcript_id) WHERE metric IN ({named}) ORDER BY metric)
        GROUP BY ALL) USING (submission_id, transcript_id)"""  # noqa: S608
    # The grades of a case stand in its turns.
    votes = "AND v.unit = 'item'" if split.protocol == "case" else ""
    return f"""
    WITH mine AS (SELECT t.*, p.* EXCLUDE (submission_id)
        FROM transcripts t JOIN place p USING (submission_id) JOIN batch USING (item_id)),
    said AS (SELECT submission_id, transcript_id,
            '[' || string_agg(json_array(v.judge, v.kind, v.score, v.failure,
                if(v.score = 1 OR v.marks = '{{}}', NULL, v.marks::JSON),
                {words[2].replace("reply", "v.reply")})::VARCHAR, ',' ORDER BY v.position) || ']' AS votes
        FROM verdicts v SEMI JOIN mine USING (submission_id, transcript_id) WHERE true {votes} GROUP BY ALL)
    SELECT item_id, shard, '{{"rows":[' || string_agg(json_array(slug, model, condition, tier, epoch,
            round(c.value / {split.most}, 4), failure, {words[0]}, {words[1]},
            coalesce(said.votes, '[]')::JSON{more})::VARCHAR, ',' ORDER BY submission_id, epoch) || ']}}'
    FROM mine LEFT JOIN said USING (submission_id, transcript_id)
    LEFT JOIN (FROM scores WHERE metric = '{split.headline}') c USING (submission_id, transcript_id)
    {joined}
    GROUP BY item_id, shard ORDER BY item_id, shard"""  # noqa: S608


def vectors(
    store: Store, split: OpenSplit, jury: str, condition: str
) -> tuple[list[str], dict[str, NDArray[np.float64]]]:
    """Score of each submission on each item: the label where a person gave one, else the jury's; NaN: unknown.

    Returns:
        The items, and for each submission an array of shape (items,); repeats of an item are averaged.
    """
    query = """SELECT t.submission_id, t.item_id, avg(coalesce(h.value, c.value)) AS score
        FROM transcripts t JOIN submissions s USING (submission_id)
        LEFT JOIN (FROM scores WHERE metric = 'both_correct') c USING (submission_id, transcript_id)
        LEFT JOIN (FROM labels WHERE kind = 'human') h USING (submission_id, transcript_id)
        WHERE s.split = ? AND s.version = ? AND s.jury = ? AND s.condition = ? AND s.kind = 'model'
        GROUP BY ALL ORDER BY 1, 2"""
    column = store.query(query, [split.split, split.version, jury, condition]).fetchnumpy()
    names, starts = np.unique(column["submission_id"].astype(str), return_index=True)
    ids, place = np.unique(column["item_id"].astype(str), return_inverse=True)
    score: NDArray[np.float64] = np.ma.filled(np.ma.asarray(column["score"], dtype=float), np.nan)
    found = {}
    for name, where, values in zip(names, np.split(place, starts[1:]), np.split(score, starts[1:]), strict=False):
        whole = np.full(len(ids), np.nan)
        whole[where] = values
        found[str(name)] = whole
    return [str(i) for i in ids], found
