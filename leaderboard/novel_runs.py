"""Which runs on questions about novels stand together: in one section, and as the settings of one line."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evaluators import readings as novel_readings
from evaluators.kept import keep_figures
from evaluators.protocols.novel import settings as novel_settings
from evaluators.readings import Reading, readings
from evaluators.store import Store
from evaluators.stored import Stored
from evaluators.values import Submission
from leaderboard import novel_views
from leaderboard.figures import Figures, figures
from leaderboard.novel_views import Side, side_by_side
from leaderboard.settled import CODE as EACH
from leaderboard.settled import Stand, by_condition, stands

SETTINGS = ("context", "evidence", "question-only")
# A change to any of these makes what is kept of settings side by side out of date.
CODE = (*EACH, Path(__file__), *(Path(str(m.__file__)) for m in (novel_views, novel_settings, novel_readings)))
Group = tuple[Submission | None, ...]  # the runs of one line, in the order of SETTINGS


class Kept(NamedTuple):
    """What is worked out of the submissions of one version and jury, each by itself and the settings of each line."""

    figures: dict[str, Figures]
    sides: dict[str, Side]  # by the line's name
    stands: dict[str, Stand]  # of a run among those of its setting


def section_of(submission: Submission) -> tuple[str, str, str]:
    """Version, jury, and the condition but for the setting: what models that are ranked together have in common."""
    rest = [p for p in submission.condition.split(";") if not p.startswith(("setting=", "brought"))]
    return submission.version, submission.jury, ";".join(rest)


def belongs(submission: Submission, key: tuple[str, str, str]) -> bool:
    """Whether a run has a place in a section; runs without a context stand beside contexts of any length."""
    own = section_of(submission)
    whole = (*key[:2], ";".join(p for p in key[2].split(";") if not p.startswith("truncate=")))
    return own == key or (own == whole and said(submission, "setting") != SETTINGS[0])


def said(submission: Submission, name: str) -> str | None:
    """What a condition says of one thing."""
    found = [p.partition("=")[2] for p in submission.condition.split(";") if p.startswith(f"{name}=")]
    return found[0] if found else None


def groups_of(submissions: Sequence[Submission], condition: str) -> list[Group]:
    """The lines of a section: submissions of one model in the order of SETTINGS.

    Contexts cut to another length make lines of their own.
    """
    models: dict[str, dict[str, list[Submission]]] = {}
    for s in sorted(submissions, key=lambda s: (s.date, s.submission_id), reverse=True):
        models.setdefault(s.model.model_dump_json(), {}).setdefault(said(s, "setting") or "", []).append(s)
    found: list[Group] = []
    for settings in models.values():
        others = [next(iter(settings.get(name, [])), None) for name in SETTINGS[1:]]
        found += [(context, *others) for context in settings.get(SETTINGS[0], [None])]
    # Where contexts are cut, a model without one has nothing to be put beside.
    return [group for group in found if group[0] or "truncate=" not in condition]


def name_of(group: Group) -> str:
    """Name of a line among what is kept."""
    return "|".join(s.submission_id if s else "" for s in group)


def kept_runs(store: Store, split: str, key: tuple[str, str], runs: Sequence[Stored]) -> Kept:
    """What is said of the runs of one version and jury; only what new or changed ones touch is worked out again.

    Args:
        store: What to read, and where to keep it.
        split: Split.
        key: Version and jury.
        runs: All submissions to the split.
    """
    mine = [s.submission for s in runs if (s.submission.version, s.submission.jury) == key]
    sections = sorted({section_of(s) for s in mine})
    groups = {name_of(g): g for own in sections for g in groups_of([s for s in mine if belongs(s, own)], own[2])}

    def make(names: Sequence[str]) -> dict[str, str]:
        rows: dict[str, list[Reading]] = {}
        wanted = sorted({s.submission_id for name in names for s in groups[name] if s})
        for reading in readings(store, split, *key, only=wanted):
            rows.setdefault(reading.submission_id, []).append(reading)
        found = {}
        for name in names:
            context, evidence, alone = (rows.get(s.submission_id) if s else None for s in groups[name])
            model = next(s.model.name for s in groups[name] if s)
            found[name] = side_by_side(model, context, evidence, alone).model_dump_json()
        return found

    subjects = {name: [s.submission_id for s in group if s] for name, group in groups.items()}
    kept = keep_figures(store, (split, *key, "settings"), subjects, make, code=CODE)
    sides = {name: Side.model_validate_json(text) for name, text in kept.items()}
    found = figures(store, split, *key, runs)
    return Kept(found, sides, stands(store, (split, *key), "novel", by_condition(runs, found)))
