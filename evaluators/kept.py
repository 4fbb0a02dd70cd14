"""Estimates kept in the store beside the evidence they were made from, so that a build need not repeat them."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluators.store import Store
from evaluators.values import Estimate

FULL = 65535  # a draw of 1 as a 16-bit number: steps of 0.0015 points


class Place(NamedTuple):
    """Where a ranked row stands among those beside it."""

    group: int  # rows of one group cannot be told from its first
    lead: float  # score minus the leader's, on the same items
    low: float
    high: float
    likes: bytes  # joint draws of the score on items like these: little-endian uint16, FULL is a share of 1
    these: bytes  # of the score on these items

    def drawn(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The draws of both scores as shares, each of shape (D,)."""
        likes, these = (np.frombuffer(draws, dtype="<u2") / FULL for draws in (self.likes, self.these))
        return likes, these


class Standing(NamedTuple):
    """All that was worked out of the rows of one version, jury and condition."""

    estimates: tuple[Estimate, ...]
    places: Mapping[str, Place]  # by submission_id; empty where nothing could be fitted


def evidence_digest(store: Store, split: str, version: str, jury: str, *, code: Sequence[Path]) -> str:
    """Digest of all that the estimates of a split under one jury are made from, and of the code that makes them."""
    total = sha256()
    for query in _EVIDENCE:
        # Sums, so that the order in which rows come does not count.
        total.update(repr(store.query(query, {"split": split, "version": version, "jury": jury}).fetchone()).encode())
    for path in code:
        total.update(path.read_bytes())
    return total.hexdigest()


_MINE = "(SELECT submission_id FROM submissions WHERE split = $split AND version = $version AND jury = $jury)"
_EVIDENCE = (
    "SELECT count(*), sum(hash(submission_id, tier, submission)) FROM submissions "
    "WHERE split = $split AND version = $version AND jury = $jury",
    f"SELECT count(*), sum(hash(submission_id, transcript_id, item_id, epoch, failure, no_answer)) FROM transcripts "  # noqa: S608
    f"WHERE submission_id IN {_MINE}",
    f"SELECT count(*), sum(hash(submission_id, transcript_id, metric, value, by_rule)) FROM scores "  # noqa: S608
    f"WHERE submission_id IN {_MINE}",
    f"SELECT count(*), sum(hash(submission_id, transcript_id, kind, value)) FROM labels "  # noqa: S608
    f"WHERE submission_id IN {_MINE}",
    "SELECT count(*), sum(hash(item_id, cluster, category)) FROM items WHERE split = $split AND version = $version "
    "AND $jury <> ''",
)


def read_standings(store: Store, split: str, version: str, jury: str, digest: str) -> dict[str, Standing] | None:
    """The kept standings by condition; None where there are none, or they were made from other rows or code."""
    key = {"split": split, "version": version, "jury": jury}
    where = "WHERE split = $split AND version = $version AND jury = $jury"
    found = store.query(f"SELECT digest FROM standings {where}", key).fetchall()  # noqa: S608
    if found != [(digest,)]:
        return None
    estimates: dict[str, list[Estimate]] = {}
    query = f"SELECT condition, estimate FROM estimates {where} ORDER BY position"  # noqa: S608
    for condition, text in store.query(query, key).fetchall():
        estimates.setdefault(condition, []).append(Estimate.model_validate_json(text))
    places: dict[str, dict[str, Place]] = {}
    query = f"""SELECT condition, submission_id, tie_group, lead, lead_low, lead_high, likes, these
        FROM places {where} ORDER BY condition, submission_id"""  # noqa: S608
    for condition, name, *rest in store.query(query, key).fetchall():
        places.setdefault(condition, {})[name] = Place._make(rest)
    return {condition: Standing(tuple(e), places.get(condition, {})) for condition, e in estimates.items()}


def keep_standings(
    store: Store, split: str, version: str, jury: str, *, digest: str, found: Mapping[str, Standing]
) -> None:
    """Put standings in place of what the store holds of this split, version and jury."""
    key = {"split": split, "version": version, "jury": jury}
    listed = [(condition, e) for condition, standing in found.items() for e in standing.estimates]
    named = ("submission_id", "model", "provider", "tier", "metric", "estimand", "method", "value", "low", "high")
    counts = ("n", "n_human", "best_rank", "worst_rank")
    rows = [
        (*key.values(), condition, n, *(getattr(e, name) for name in (*named, *counts)), e.model_dump_json())
        for n, (condition, e) in enumerate(listed)
    ]
    places = [
        (*key.values(), condition, name, *p)
        for condition, standing in found.items()
        for name, p in standing.places.items()
    ]
    store.keep({"standings": [(*key.values(), digest)], "estimates": list(rows), "places": list(places)}, key)


def keep_figures(
    store: Store,
    key: tuple[str, str, str, str],
    subjects: Mapping[str, Sequence[str]],
    make: Callable[[Sequence[str]], Mapping[str, str]],
    *,
    code: Sequence[Path],
) -> dict[str, str]:
    """Figures of subjects as text: what the store keeps where it still holds, else what `make` makes, which is kept.

    Args:
        store: What to read, and where to keep them unless it is open for reading only.
        key: Split, version, jury and kind; all subjects of a kind are asked for at once, others are forgotten.
        subjects: By name of each, the submissions whose rows its figures are made from.
        make: Makes the figures of the named subjects; called once, and only where some are missing.
        code: What makes them; a change to any of these files makes them all out of date.
    """
    named = dict(zip(("split", "version", "jury", "kind"), key, strict=True))
    marks, base = _marks(store, *key[:3]), sha256(b"".join(path.read_bytes() for path in code)).hexdigest()
    sources = {
        name: sha256("\n".join((base, *(marks.get(m, "") for m in members))).encode()).hexdigest()
        for name, members in subjects.items()
    }
    query = """SELECT subject, digest, figures FROM figures
        WHERE split = $split AND version = $version AND jury = $jury AND kind = $kind"""
    rows = store.query(query, named).fetchall()
    found = {name: text for name, digest, text in rows if sources.get(name) == digest}
    missing = [name for name in subjects if name not in found]
    if missing:
        found |= make(missing)
    if (missing or len(rows) > len(found)) and not store.read_only:
        store.keep({"figures": [(*key, name, sources[name], text) for name, text in found.items()]}, named)
    return found


def _marks(store: Store, split: str, version: str, jury: str) -> dict[str, str]:
    """By submission, a digest of all rows that are about it, and of the items' stories and categories."""
    key = {"split": split, "version": version, "jury": jury}
    items = store.query(_EVIDENCE[-1], key).fetchone()
    rows = store.query(_MARKS, key).fetchall()
    return {name: f"{items} {count} {total}" for name, count, total in rows}


_MARKS = f"""
    WITH said AS (
        SELECT submission_id, hash(tier, submission) AS mark FROM submissions WHERE submission_id IN {_MINE}
        UNION ALL SELECT submission_id, hash(transcript_id, item_id, epoch, failure, no_answer) FROM transcripts
            WHERE submission_id IN {_MINE}
        UNION ALL SELECT submission_id, hash(transcript_id, metric, value, by_rule) FROM scores
            WHERE submission_id IN {_MINE}
        UNION ALL SELECT submission_id, hash(transcript_id, kind, value) FROM labels WHERE submission_id IN {_MINE}
        UNION ALL SELECT submission_id, hash(transcript_id, reading) FROM readings WHERE submission_id IN {_MINE}
        UNION ALL SELECT submission_id, hash(transcript_id, judge, kind, unit, marks, score) FROM verdicts
            WHERE submission_id IN {_MINE})
    SELECT submission_id, count(*), sum(mark)::VARCHAR FROM said GROUP BY submission_id"""  # noqa: S608
