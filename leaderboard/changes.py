"""Changes to standing rows: promote, rescore, withdraw, retire a jury. Each keeps the old evidence and says why.

python -m leaderboard withdraw ID --reason TEXT
python -m leaderboard rescore ID --with BUNDLE --reason TEXT
python -m leaderboard promote ID --with BUNDLE --tier rejudged|scored-here --reason TEXT
python -m leaderboard retire-jury NAME --reason TEXT
"""

import argparse
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.values import Submission
from leaderboard.records import RECORDS, Action, History, Record, RecordError, append, read_history

if TYPE_CHECKING:
    from evaluators.bundle import Bundle
    from evaluators.store import Store
    from evaluators.values import Estimate

COMMANDS: dict[str, str] = {
    "withdraw": "take a row off its board; bundle and reason stay",
    "rescore": "put other verdicts on the same answers in place of a row's",
    "promote": "put a row that maintainers judged or ran in place of a sent one",
    "retire-jury": "mark all rows that a jury judged",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of one of `COMMANDS`, which is the last word of the parser's name."""
    command = parser.prog.split()[-1]
    jury = command == "retire-jury"
    parser.add_argument("subject", metavar="JURY" if jury else "ID", help="name of the jury or submission")
    parser.add_argument("--reason", required=True, help="why; it is published")
    if command in ("rescore", "promote"):
        parser.add_argument("--with", dest="evidence", type=Path, required=True, metavar="BUNDLE", help="new evidence")
    if command == "promote":
        parser.add_argument("--tier", required=True, choices=("rejudged", "scored-here"))
    parser.add_argument("--date", help="day of the change, YYYY-MM-DD (default: today, UTC)")
    add_places(parser)
    parser.set_defaults(change=command)


def add_places(parser: argparse.ArgumentParser) -> None:
    """Describe where boards, records and splits are."""
    parser.add_argument("--submissions", type=Path, default=Path("leaderboard/submissions"), metavar="DIR")
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="the results changelog")
    parser.add_argument("--splits", type=Path, default=Path("splits"), metavar="DIR", help="built splits")


def main(arguments: argparse.Namespace) -> int:
    """Make one change and print its record.

    Raises:
        ValueError: If there is no such row, or the evidence is not about it.
        OSError: If something cannot be written.
    """
    if arguments.change == "retire-jury":
        record = retire(arguments)
    elif arguments.change == "withdraw":
        record = withdraw(arguments)
    else:
        action: Action = "rescored" if arguments.change == "rescore" else arguments.tier
        record = supersede(arguments, arguments.subject, arguments.evidence, action, reason=arguments.reason)
    print(record.model_dump_json(exclude_none=True, indent=1))
    return 0


def today() -> str:
    """The day, YYYY-MM-DD in UTC."""
    return datetime.now(UTC).date().isoformat()


def retire(places: argparse.Namespace) -> Record:
    """Mark a jury as retired."""
    check_retirable(places)
    record = Record(action="jury-retired", date=places.date or today(), subject=places.subject, reason=places.reason)
    return append(record, places.records)


def check_retirable(places: argparse.Namespace) -> None:
    """Refuse a jury that has retired already or that no row is judged by.

    Raises:
        RecordError: For either.
    """
    history = read_history(places.records)
    if history.retired(places.subject):
        raise RecordError(f"jury {places.subject!r} has retired already")
    known = {s.jury for s in _standing(places.submissions).values()}
    if places.subject not in known:
        raise RecordError(f"no row was judged by {places.subject!r}; there are {', '.join(sorted(known)) or 'none'}")


def withdraw(places: argparse.Namespace) -> Record:
    """Take a row off its board."""
    from evaluators.sealed_bundle import is_sealed

    history = read_history(places.records)
    old = _shown(places.submissions, history, places.subject)
    before = _sealed_headline(places, old) if is_sealed(old) else headline(places, history, old)
    record = Record(
        action="withdrawn",
        date=places.date or today(),
        subject=old.submission_id,
        model=old.model.name,
        split=old.ref,
        reason=places.reason,
        before=before,
    )
    return append(record, places.records)


def supersede(
    places: argparse.Namespace,
    subject: str,
    evidence: Path,
    action: Action,
    *,
    reason: str,
    pull: int | None = None,
    head: str | None = None,
) -> Record:
    """Put new evidence in place of a row; the old bundle stays where it is.

    Raises:
        RecordError: If there is no such row, or the evidence is about another model, split or other answers.
        BundleError: If the evidence cannot be read.
    """
    from evaluators.bundle import read_bundle, read_submission, renamed, write_bundle
    from evaluators.sealed_bundle import is_sealed
    from leaderboard.sealed_rows import promote

    history = read_history(places.records)
    old = _shown(places.submissions, history, subject)
    if is_sealed(old) or is_sealed(read_submission(evidence)):
        if action != "scored-here":
            raise RecordError("nobody can compare sealed answers with others: only a run of ours takes a row's place")
        return promote(places, old, evidence)
    bundle = read_bundle(evidence)
    folder: Path = places.submissions / old.benchmark
    _check_about(old, read_bundle(folder / subject), bundle, action)
    name = _free_name(folder, subject, action)
    standing = renamed(bundle, name)
    write_bundle(folder / name, *standing)
    try:
        before = headline(places, history, old)
        changed = History((*history.records, _placeholder(subject, name, action)))
        after = headline(places, changed, standing.submission)
    except BaseException:
        # A bundle without a record would stand as one more self-reported row.
        shutil.rmtree(folder / name)
        raise
    record = Record(
        action=action,
        date=getattr(places, "date", None) or today(),
        subject=subject,
        becomes=name,
        model=old.model.name,
        split=old.ref,
        reason=reason,
        before=before,
        after=after,
        pull=pull,
        head=head,
    )
    return append(record, places.records)


def _placeholder(subject: str, name: str, action: Action) -> Record:
    return Record(action=action, date=today(), subject=subject, becomes=name, reason="being written")


def _check_about(old: Submission, sent: "Bundle", new: "Bundle", action: Action) -> None:
    s = new.submission
    if (s.model.name, s.ref, s.condition) != (old.model.name, old.ref, old.condition):
        raise RecordError(
            f"the evidence is about {s.model.name!r} on {s.ref}, {s.condition}; {old.submission_id!r} is about "
            f"{old.model.name!r} on {old.ref}, {old.condition}"
        )
    answers = [{(t.item_id, t.epoch): (t.answer, t.failure) for t in b.transcripts} for b in (sent, new)]
    if action != "scored-here" and answers[0] != answers[1]:
        raise RecordError(f"the evidence holds other answers than {old.submission_id!r}; only verdicts may differ")


def _free_name(folder: Path, subject: str, action: Action) -> str:
    root = subject
    for ending in (".rejudged", ".scored-here", ".rescored"):
        root = root.split(ending)[0]
    names = (f"{root}.{action}{'' if n == 1 else f'-{n}'}" for n in range(1, 1000))
    return next(name for name in names if not (folder / name).exists())


def _standing(submissions: Path) -> dict[str, Submission]:
    from evaluators.bundle import read_submission

    found = (read_submission(path.parent) for path in sorted(submissions.glob("*/*/submission.yaml")))
    return {s.submission_id: s for s in found}


def _shown(submissions: Path, history: History, subject: str) -> Submission:
    standing = {k: s for k, s in _standing(submissions).items() if history.tier(k) is not None}
    if subject not in standing:
        known = ", ".join(sorted(standing)[:10]) or "none"
        raise RecordError(f"no row {subject!r} is shown now; there are {known}")
    return standing[subject]


def _sealed_headline(places: argparse.Namespace, s: Submission) -> float | None:
    from evaluators.sealed_bundle import read_sealed_bundle
    from leaderboard import sealed_rows

    return sealed_rows.headline(read_sealed_bundle(places.submissions / s.benchmark / s.submission_id))


def headline(places: argparse.Namespace, history: History, s: Submission) -> float | None:
    """The row's share of full marks for items like these, as its board shows it under a history."""
    from evaluators.estimate import LIKE
    from evaluators.scores import FULL_MARKS
    from evaluators.store import open_store
    from leaderboard.ingest import ingest

    with open_store(":memory:") as store:
        ingest(store, places.submissions, (), places.splits, history, labels=places.submissions.parent / "labels")
        found = _estimates(store, s)
    own = [e for e in found if e.submission_id == s.submission_id and e.estimand == LIKE]
    return round(own[0].value / FULL_MARKS.get(s.protocol, 1.0), 6) if own else None


def _estimates(store: "Store", s: Submission) -> "Sequence[Estimate]":
    """The figures of the row's board, each row's headline first."""
    from evaluators.estimate import estimate_split, rows
    from evaluators.estimate import headline as figures
    from evaluators.estimate_cases import estimate_cases
    from evaluators.estimate_means import estimate_means
    from evaluators.fit import fit_split

    if s.protocol == "case":
        return estimate_cases(store, s.split, s.version, s.jury, s.condition)
    if s.protocol in ("soup", "novel"):
        return estimate_means(store, s.split, s.version, s.jury, s.condition)
    fits = fit_split(rows(store, s.split, s.version, s.jury))
    return figures(estimate_split(store, s.split, s.version, s.jury, s.condition, fits=fits))
