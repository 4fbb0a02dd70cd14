"""One joint fit of every model on a split: the default estimator, `lsre`, over what the store holds."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from evaluators.bins import Ints
from evaluators.estimate import RANKED, Rows, Split
from evaluators.lsre import Fit, estimands, lsre
from evaluators.ppi import Estimands
from evaluators.rows import Rows as Columns
from evaluators.store import Store


class Board(NamedTuple):
    """A fit with the rows it was made of; model number n is `names[n]`."""

    names: tuple[str, ...]  # submission_id
    rows: Columns
    fit: Fit


class Fits(NamedTuple):
    """The intervals of every submission to a split, and the fit that ranks are drawn from."""

    ranked: Board
    intervals: Mapping[str, Estimands]  # by submission_id
    rhat: float  # largest of all fits; below 1.01 the chains agree


class ChoiceError(ValueError):
    """What is asked for is not in the store; the message says what is."""


def choose_jury(store: Store, split: str, jury: str | None) -> tuple[str, str]:
    """Find the version and jury of a split's rows, the newest version first.

    Raises:
        ChoiceError: If there are none, or several juries and none of them is named.
    """
    found = {(s.submission.version, s.submission.jury) for s in store.submissions(split)}
    if not found:
        known = sorted({s.submission.split for s in store.submissions()})
        raise ChoiceError(f"the store has no rows of split {split!r}; it has {', '.join(known) or 'none at all'}")
    newest = max((v for v, _ in found), key=lambda v: tuple(int(part) for part in v.split(".")))
    juries = sorted(j for v, j in found if v == newest)
    if jury is None and len(juries) > 1:
        raise ChoiceError(f"several juries judged {split}@{newest}: name one with --jury {' | '.join(juries)}")
    if jury is not None and jury not in juries:
        raise ChoiceError(f"jury {jury!r} judged nothing of {split}@{newest}; {', '.join(juries)} did")
    return newest, jury or juries[0]


def fit_split(data: Split, *, draws: int = 2000, max_sweeps: int = 12000) -> Fits | None:
    """Fit all submissions to a split under one jury together; None where nothing is labelled.

    Self-reported rows are fitted beside the others in a fit of their own: what a submitter sends can move neither
    the intervals nor the ranks of anybody else, and its own labels do not count. The same rows give the same draws.

    Args:
        data: From `evaluators.estimate.rows`.
        draws: Draws to keep, as for `lsre`.
        max_sweeps: Longest run of each Markov chain, as for `lsre`.
    """
    ranked = [r for r in data.rows if r.tier in RANKED]
    if not any(np.isfinite(r.label).any() for r in ranked):
        return None
    board = _fit(ranked, data.clusters, draws, max_sweeps)
    found = dict(zip(board.names, estimands(board.fit), strict=True))
    sent = [r._replace(label=np.full_like(r.label, np.nan)) for r in data.rows if r.tier not in RANKED]
    rhat = board.fit.rhat
    if sent:
        beside = _fit([*ranked, *sent], data.clusters, draws, max_sweeps)
        everyone = zip(beside.names, estimands(beside.fit), strict=True)
        found |= {name: both for name, both in everyone if name not in found}
        rhat = max(rhat, beside.fit.rhat)
    return Fits(board, found, rhat)


def _fit(rows: Sequence[Rows], clusters: Mapping[str, str], draws: int, max_sweeps: int) -> Board:
    columns = columns_of(rows, clusters)
    names = tuple(r.submission.submission_id for r in rows)
    seed = int.from_bytes(sha256("\n".join(names).encode()).digest()[:8], "big")
    return Board(names, columns, lsre(columns, rng=np.random.default_rng(seed), draws=draws, max_sweeps=max_sweeps))


def columns_of(rows: Sequence[Rows], clusters: Mapping[str, str]) -> Columns:
    """Line up the attempts of all submissions."""
    ids = sorted({str(i) for r in rows for i in r.item if i} | set(clusters))
    item = np.concatenate([_items(r, {name: n for n, name in enumerate(ids)}) for r in rows])
    names = [clusters.get(i, i) for i in ids]
    groups = {name: n for n, name in enumerate(dict.fromkeys(names))}
    # Items that nobody attempted and no stored split names stand alone.
    unknown = range(len(groups), len(groups) + int(item.max()) + 1 - len(ids))
    return Columns(
        model=np.repeat(np.arange(len(rows)), [len(r.jury) for r in rows]),
        item=item,
        jury=np.concatenate([r.jury for r in rows]),
        # No answer is wrong by rule: known, like a label.
        human=np.concatenate([np.where(r.no_answer, 0.0, r.label) for r in rows]),
        cluster=None if len(groups) == len(ids) else np.array([*(groups[name] for name in names), *unknown]),
    )


def _items(own: Rows, number: Mapping[str, int]) -> Ints:
    """Item of each attempt; one that is missing stands at an item that the model left out."""
    attempted = [number[str(i)] for i in own.item if i]
    missing = len(own.item) - len(attempted)
    left_out = sorted(set(number.values()) - set(attempted)) or range(len(number), len(number) + missing)
    gaps: Ints = np.resize(np.repeat(left_out, own.submission.epochs), missing)
    return np.concatenate([np.array(attempted, dtype=np.int64), gaps.astype(np.int64)])
