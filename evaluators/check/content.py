"""What a bundle says against what it holds: ids, attempts, counts, judges and scores, all worked out again."""

import re
from collections import Counter
from functools import cache

from evaluators.bundle import TRANSCRIPTS, VERDICTS
from evaluators.check.cases import countable, odd_case, odd_grade
from evaluators.check.files import DESCRIPTION, Deadline
from evaluators.check.findings import Findings
from evaluators.check.form import Form
from evaluators.check.games import check_games
from evaluators.check.indexes import SplitIndex
from evaluators.check.novels import is_letter
from evaluators.check.words import KEYS
from evaluators.run import Outcome, count
from evaluators.scores import seats_of
from evaluators.values import Submission, Transcript, Verdict, transcript_id

LONGEST_ANSWER = 100_000  # characters
MOST_EPOCHS = 100
_FIRST = re.compile(r"first=([1-9]\d{0,5})")
# NUL, and what turns around the text that follows it; marks that Arabic and Hebrew need are not among these.
_TURNING = re.compile("[\0\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
REPACK = "write the bundle with python -m evaluators.submit and change nothing in it by hand"


def check_content(form: Form, index: SplitIndex | None, found: Findings, deadline: Deadline) -> None:
    """Refuse what contradicts itself or the split; report what is allowed and worth knowing."""
    s = form.submission
    if s is None:
        return
    if s.epochs > MOST_EPOCHS:
        problem = f"{s.epochs:,} answers to each item, at most {MOST_EPOCHS}"
        found.refuse("epochs", form.key("epochs"), problem, "a tenth of that is plenty")
    if s.kind != "model":
        found.refuse("kind", form.key("kind"), f"kind is {s.kind!r}", "only answers of a model are sent this way")
    _check_split(form, s, index, found)
    evidence_read = not any(found.spoiled(form.at(name)) for name in (TRANSCRIPTS, VERDICTS))
    _check_attempts(form, s, index, found)
    deadline.check()
    if evidence_read:  # rows that could not be read would be told again as missing ones
        _check_verdicts(form, s, found)
        _check_jury(form, s, found)
        if s.protocol == "soup":
            check_games(form, s, found)
        if all(countable(t) for _, t in form.transcripts):
            _check_counts(form, s, index, found)


def _check_split(form: Form, s: Submission, index: SplitIndex | None, found: Findings) -> None:
    if index is None:
        remedy = "take a released split: python -m builders list; its index must be in evaluators/split_indexes"
        found.refuse("split", form.key("split"), f"there is no split {s.ref} here", remedy)
        return
    m = index.manifest
    if s.split_sha256 != m.sha256:
        problem = f"split_sha256 is not that of {m.ref} ({m.sha256[:12]}...)"
        found.refuse("split", form.key("split_sha256"), problem, "build the split again and run on that")
    if (s.benchmark, s.protocol) != (m.benchmark, m.protocol):
        problem = f"{m.ref} is of benchmark {m.benchmark!r} and protocol {m.protocol!r}"
        found.refuse("split", form.key("benchmark"), problem, REPACK)


def _check_attempts(form: Form, s: Submission, index: SplitIndex | None, found: Findings) -> None:
    ids = frozenset(index.ids) if index else None
    seen: dict[tuple[str, int], int] = {}
    for line, t in form.transcripts:
        where = form.at(TRANSCRIPTS, line)
        if ids is not None and t.item_id not in ids:
            found.refuse("unknown-id", where, f"{s.ref} has no item {t.item_id!r}", "leave the line out")
        if index is not None and t.item_id in index.practice:
            found.refuse("practice", where, f"{t.item_id!r} is for practice and is never scored", "leave the line out")
        if (t.item_id, t.epoch) in seen:
            problem = f"item {t.item_id!r}, epoch {t.epoch} again, first in line {seen[t.item_id, t.epoch]}"
            found.refuse("duplicate", where, problem, "keep one answer; repeats have epochs 0, 1, ...")
        seen.setdefault((t.item_id, t.epoch), line)
        if not t.epoch < s.epochs:
            problem = f"epoch {t.epoch}, and submission.yaml says epochs: {s.epochs}"
            found.refuse("epoch", where, problem, "epochs count from 0")
        said = (t.split, t.model, t.protocol, t.condition)
        if said != (s.ref, s.model.name, s.protocol, s.condition):
            found.refuse("mixed", where, "is not of the split, model and condition of submission.yaml", REPACK)
        if t.answer is not None and t.answer.kind != s.protocol:
            found.refuse("mixed", where, f"an answer of kind {t.answer.kind!r} in a {s.protocol} split", REPACK)
        if t.game is not None and s.protocol not in ("soup", "case"):
            found.refuse("mixed", where, f"a game in a {s.protocol} split", REPACK)
        if t.transcript_id != transcript_id(s.submission_id, t.item_id, t.epoch):
            found.refuse("transcript-id", where, f"transcript_id {t.transcript_id} is not that of this attempt", REPACK)
        if s.protocol == "case" and (odd := odd_case(t, s)):
            found.refuse("game", where, odd, REPACK)
        _check_texts(where, t, found)


def _check_texts(where: str, t: Transcript, found: Findings) -> None:
    for text in _texts(t):
        if len(text) > LONGEST_ANSWER:
            problem = f"a text of {len(text):,} characters, at most {LONGEST_ANSWER:,}"
            found.refuse("long-text", where, problem, "an answer is shorter than that")
        if hidden := _TURNING.search(text):
            problem = f"holds NUL or a character that turns text (U+{ord(hidden[0]):04X})"
            found.refuse("hidden", where, problem, "take it out")
        # Real models write some: "\\frac" in a JSON string without its second backslash is a form feed and "rac".
        if control := _CONTROL.search(text):
            found.report("control", where, f"holds a control character (U+{ord(control[0]):04X})", "pages spell it out")
        if KEYS.search(text):
            found.refuse("key", where, "holds what looks like a secret key", "take it out and revoke the key")
    if any(image.data for message in t.messages for image in message.images):
        found.refuse("image", where, "holds the bytes of an image", "keep the digest only, as the run wrote it")


def _texts(t: Transcript) -> list[str]:
    said = list(t.answer.texts) if t.answer else []
    # Only what the model wrote: prompts are the split's and may hold any sign.
    return said + [m.text for m in t.messages if m.role == "assistant"] + (list(t.game.texts) if t.game else [])


def _check_verdicts(form: Form, s: Submission, found: Findings) -> None:
    attempts = {t.transcript_id: t for _, t in form.transcripts}
    seen: set[tuple[str, str, str]] = set()
    for line, v in form.verdicts:
        where = form.at(VERDICTS, line)
        attempt = attempts.get(v.transcript_id)
        key = (v.transcript_id, v.judge, v.unit)
        if attempt is None:
            found.refuse("no-attempt", where, f"about no attempt of this bundle ({v.transcript_id})", REPACK)
        elif key in seen:
            found.refuse("duplicate", where, f"a second verdict of judge {v.judge!r}", "a judge marks an answer once")
        else:
            _check_verdict(where, v, attempt, s, found)
        seen.add(key)


def _check_verdict(where: str, v: Verdict, attempt: Transcript, s: Submission, found: Findings) -> None:
    if v.kind in ("human", "author"):
        remedy = "labels are sent with the issue form `Human labels`, where their makers are named"
        found.refuse("label", where, f"a verdict of kind {v.kind!r} in a submission", remedy)
    elif s.protocol == "novel" and is_letter(v):
        pass  # check_novels holds it against the key
    elif v.kind == "rule" and (not attempt.no_answer or v.score != 0):
        found.refuse("rule", where, "a rule's verdict stands only for an attempt without an answer, and is 0", REPACK)
    elif v.kind == "model" and attempt.no_answer:
        found.refuse("rule", where, "a judge on an attempt without an answer", REPACK)
    elif v.kind == "model" and attempt.failure is not None:
        found.refuse("no-attempt", where, "a verdict on a call that failed", REPACK)
    odd = v.score not in (0, 1, None) or (v.score is not None and v.marks and v.score != all(v.marks.values()))
    if s.protocol == "case" and (wrong := odd_grade(v, attempt)):
        found.refuse("score", where, wrong, REPACK)
    if odd and s.protocol == "riddle":
        found.refuse("score", where, f"score {v.score} is not that of its marks", "a riddle's score is 0 or 1")
    if v.kind == "model" and v.judge not in s.judges:
        found.refuse("judge", where, f"judge {v.judge!r} is not among the judges of submission.yaml", REPACK)
    if v.provider == s.model.provider and v.kind == "model" and not _judges_its_own(s.jury):
        remedy = "a judge does not mark its own maker's models; let the reserve sit in"
        found.refuse("own-judge", where, f"judge {v.judge!r} is of the model's own provider", remedy)


@cache
def _judges_its_own(jury: str) -> bool:
    from evaluators.jury import known_panels, load_panel

    return jury in known_panels() and not load_panel(jury).excludes_own_provider


def _check_jury(form: Form, s: Submission, found: Findings) -> None:
    from evaluators.jury import known_panels, load_panel

    sat = {v.judge for _, v in form.verdicts if v.kind == "model"}
    if sat and set(s.judges) != sat:
        found.refuse("judge", form.key("judges"), "judges are not those whose verdicts are here", REPACK)
    if s.jury in known_panels():
        panel = load_panel(s.jury)
        if sat and s.protocol == "case" and seats_of(s) != panel.sitting:
            problem = f"{len(sat)} judge(s), and panel {s.jury!r} has {panel.sitting} at work"
            found.refuse("panel", form.key("jury"), problem, "judge with the whole panel, or name the jury otherwise")
        seats = {seat.judge for seat in panel.seats}
        if strangers := sorted(set(s.judges) - seats):
            problem = f"panel {s.jury!r} does not seat {', '.join(map(repr, strangers[:3]))}"
            remedy = "judge again with the panel as it is now, or name the jury otherwise (--judges)"
            found.refuse("panel", form.key("jury"), problem, remedy)


def _check_counts(form: Form, s: Submission, index: SplitIndex | None, found: Findings) -> None:
    outcome = Outcome(tuple(t for _, t in form.transcripts), tuple(v for _, v in form.verdicts))
    if index is not None:
        first = _FIRST.search(s.condition)
        graded = len(index.ids) - len(index.practice)
        items = min(int(first[1]), graded) if first else graded
        if s.counts.expected != items * s.epochs:
            problem = f"counts.expected is {s.counts.expected}; {items} items times {s.epochs} epochs are asked"
            found.refuse("counts", form.key("counts.expected"), problem, REPACK)
            return
    if (
        len(outcome.transcripts) > s.counts.expected
        or count(outcome, expected=s.counts.expected, seats=seats_of(s)) != s.counts
    ):
        found.refuse("counts", form.key("counts"), "counts are not those of the evidence", REPACK)
        return
    _report(form, s, outcome, found)


def _report(form: Form, s: Submission, outcome: Outcome, found: Findings) -> None:
    c = s.counts
    for name, number in (("missing", c.missing), ("failed", c.failed), ("unjudged", c.unjudged)):
        if number:
            problem = f"{number} of {c.expected} attempts are {name}: neither right nor wrong"
            found.report(name, form.key(f"counts.{name}"), problem, "they stay visible and widen the interval")
    if _FIRST.search(s.condition):
        found.report("part", form.key("condition"), "a run on part of the split", "it gets a section of its own")
    repeats = Counter(t.item_id for t in outcome.transcripts)
    if s.epochs > 1 and repeats:
        problem = f"{s.epochs} answers to each item"
        found.report("epochs", form.at(DESCRIPTION), problem, "ranked with single answers; n counts attempts")
    if s.contamination is None:
        problem = "says nothing about the split in training data"
        found.report("contamination", form.at(DESCRIPTION), problem, "saying it costs nothing: contamination: ...")
    if s.contact is None:
        found.report("contact", form.at(DESCRIPTION), "names nobody to ask", "add contact: ...")
