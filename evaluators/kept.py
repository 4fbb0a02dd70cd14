"""Estimates kept in the store beside the evidence they were made from, so that a build need not repeat them."""

from collections.abc import Mapping, Sequence
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
