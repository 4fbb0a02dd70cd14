"""Answers and verdicts that people bring: the files behind `--predictions` and `--judge-files`."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, get_args

from builders.values import Item, NovelQuestion, Riddle, Soup
from evaluators import peers
from evaluators.answers import Letter, NovelAnswer, SoupAnswer
from evaluators.heading import Heading
from evaluators.protocols import riddle
from evaluators.protocols.novel.brought import read_choice
from evaluators.protocols.novel.forms import MOST_STEPS
from evaluators.replies import UnreadableError, read
from evaluators.values import Panel, RiddleAnswer, Transcript, Verdict

MOST_BYTES = 256 * 2**20
LONGEST_LINE = 2**20
MOST_TEXTS = 20  # as many as a model may give
ID_FIELDS = ("item_id", "riddle_id", "custom_id")


# Answers by item and epoch.
Brought = dict[tuple[str, int], Transcript]


class PredictionError(ValueError):
    """A file that was brought is refused; the message names file, line and remedy."""


class _Row(NamedTuple):
    where: str
    item_id: str
    fields: dict[str, Any]
    said: peers.Said | None = None  # where it comes from the log of another harness


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise PredictionError(f"{path}: larger than {MOST_BYTES >> 20} MB; one JSON object a line is enough")
        return path.read_bytes()
    except OSError as error:
        raise PredictionError(f"{path}: {error.strerror}") from None


def file_sha256(path: Path) -> str:
    """Digest of a file that was brought: other answers make another submission.

    Raises:
        PredictionError: If it cannot be read.
    """
    return sha256(_bytes(path)).hexdigest()


def _rows(path: Path, known: frozenset[str]) -> Iterator[_Row]:
    data = _bytes(path)
    try:
        if (log := peers.replies(str(path), data)) is not None:
            yield from (_reply(said, known) for said in log)
            return
    except peers.PeerError as error:
        raise PredictionError(str(error)) from None
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            yield _row(f"{path}:{number}", line, known)


def _reply(said: peers.Said, known: frozenset[str]) -> _Row:
    _check_known(said.where, said.item_id, known)
    return _Row(said.where, said.item_id, {"answer": said.text, "epoch": said.epoch}, said)


def _check_known(where: str, item_id: str, known: frozenset[str]) -> None:
    if item_id not in known:
        raise PredictionError(f"{where}: the split has no item {item_id!r}; leave the line out or take the right split")


def _row(where: str, line: bytes, known: frozenset[str]) -> _Row:
    if len(line) > LONGEST_LINE:
        raise PredictionError(f"{where}: the line is longer than {LONGEST_LINE >> 20} MB")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise PredictionError(f"{where}: not a JSON object ({error}); write one object a line, in UTF-8") from None
    if not isinstance(fields, dict):
        raise PredictionError(f"{where}: a JSON object is expected, not {type(fields).__name__}")
    item_id = next((fields[name] for name in ID_FIELDS if name in fields), None)
    if not isinstance(item_id, str):
        raise PredictionError(f"{where}: no id; give it as {', '.join(ID_FIELDS[:-1])} or {ID_FIELDS[-1]}")
    _check_known(where, item_id, known)
    return _Row(where, item_id, fields)


def _text(row: _Row, name: str) -> str:
    value = row.fields.get(name)
    if not isinstance(value, str):
        raise PredictionError(f"{row.where}: {name} is {value!r}, a string is expected")
    return value


def _answer(row: _Row) -> RiddleAnswer:
    if "justification" in row.fields:
        return RiddleAnswer(answer=_text(row, "answer"), justification=_text(row, "justification"))
    # layton-eval's own result files hold the model's whole JSON reply in `answer`.
    try:
        return RiddleAnswer(**read(_text(row, "answer"), riddle.SolverReply).model_dump())
    except UnreadableError as error:
        raise PredictionError(f"{row.where}: no justification, and in answer: {error}") from None


def _heard(said: peers.Said, read_answer: Callable[[str], RiddleAnswer | NovelAnswer | None]) -> dict[str, Any]:
    """Answer or failure of a reply that another harness logged, as a run of ours would have counted it."""
    if said.declined:
        return {"failure": "refused"}
    answer = read_answer(said.text)
    return {"answer": answer} if answer else {"failure": "unparsed"}


def _check_readable(path: Path, found: Collection[Transcript], what: str) -> None:
    # A model now and then misses the form; a log of mostly other forms was made with another prompt.
    unread = sum(t.failure == "unparsed" for t in found)
    if 2 * unread > len(found):
        raise PredictionError(
            f"{path}: {unread} of {len(found)} replies hold no {what}, so their model was asked for something else; "
            "make the log with our task (integrations/inspect)"
        )


def read_predictions(
    path: Path, items: Sequence[Riddle], *, heading: Heading, epochs: int, allow_missing: bool
) -> Brought:
    """Read answers as transcripts.

    A row is `{"item_id", "answer", "justification"}` and, with several repeats, `"epoch"` from 0; layton-eval's own
    files (`custom_id` or `riddle_id`, the reply as a JSON string in `answer`) and the logs of `evaluators.peers` are
    read as well. A reply in a log that cannot be read is no answer, as in a run of ours.

    Raises:
        PredictionError: If a line is malformed, an id unknown or given twice, or riddles are missing and
            `allow_missing` is not set, or most replies of a log cannot be read.
    """

    def made(row: _Row, epoch: int) -> Transcript:
        brought = _heard(row.said, riddle.read_answer) if row.said else {"answer": _answer(row)}
        return heading.transcript(row.item_id, epoch, **brought)

    found = _read(path, items, made, epochs=epochs, allow_missing=allow_missing, what="answer")
    _check_readable(path, found.values(), "JSON object with answer and justification")
    return found


def read_stories(path: Path, items: Sequence[Soup], *, heading: Heading, epochs: int, allow_missing: bool) -> Brought:
    """Read reconstructions of puzzles as transcripts.

    A row is `{"item_id", "logic": [...], "details": [...], "conclusion"}` and, with several repeats, `"epoch"` from 0.

    Raises:
        PredictionError: If a line is malformed, an id unknown or given twice, or puzzles are missing and
            `allow_missing` is not set.
    """

    def made(row: _Row, epoch: int) -> Transcript:
        said = SoupAnswer(
            kind="soup",
            logic=_texts(row, "logic"),
            details=_texts(row, "details"),
            conclusion=_text(row, "conclusion"),
        )
        return heading.transcript(row.item_id, epoch, answer=said)

    return _read(path, items, made, epochs=epochs, allow_missing=allow_missing, what="reconstruction")


def read_choices(
    path: Path, items: Sequence[NovelQuestion], *, heading: Heading, epochs: int, allow_missing: bool
) -> Brought:
    """Read answers to questions about novels as transcripts.

    A row is `{"item_id", "answer": "A", "reasoning": [...]}` and, with several repeats, `"epoch"` from 0; the logs of
    `evaluators.peers` are read as well, as far as their letters stand for the split's options.

    Raises:
        PredictionError: If a line is malformed, an id unknown or given twice, options stand in another order,
            questions are missing and `allow_missing` is not set, or most replies of a log cannot be read.
    """
    options = {item.id: item.options for item in items}

    def made(row: _Row, epoch: int) -> Transcript:
        if row.said is not None:
            if row.said.options and row.said.options != options[row.item_id]:
                raise PredictionError(
                    f"{row.where}: the options of {row.item_id!r} are others than the split's, or in another order, so "
                    "its letters say something else; make the log without shuffling them"
                )
            brought = _heard(row.said, read_choice)
        else:
            brought = {"answer": _choice(row)}
        return heading.transcript(row.item_id, epoch, **brought)

    found = _read(path, items, made, epochs=epochs, allow_missing=allow_missing, what="answer")
    _check_readable(path, found.values(), "one letter as their answer")
    return found


def _choice(row: _Row) -> NovelAnswer:
    letter, steps = _text(row, "answer"), _texts(row, "reasoning", most=MOST_STEPS)
    if letter not in get_args(Letter) or not steps:
        raise PredictionError(f"{row.where}: answer is A, B, C or D, and reasoning a list of one step or more")
    return NovelAnswer.model_validate({"kind": "novel", "letter": letter, "steps": steps})


def _texts(row: _Row, name: str, *, most: int = MOST_TEXTS) -> tuple[str, ...]:
    value = row.fields.get(name)
    if not isinstance(value, list) or len(value) > most or not all(isinstance(text, str) for text in value):
        raise PredictionError(f"{row.where}: {name} is a list of at most {most} strings")
    return tuple(value)


def _read(
    path: Path,
    items: Sequence[Item],
    made: Callable[[_Row, int], Transcript],
    *,
    epochs: int,
    allow_missing: bool,
    what: str,
) -> Brought:
    known = frozenset(item.id for item in items)
    found: Brought = {}
    for row in _rows(path, known):
        epoch = row.fields.get("epoch", 0)
        if type(epoch) is not int or not 0 <= epoch < epochs:
            raise PredictionError(f"{row.where}: epoch is {epoch!r}, with --epochs {epochs} it is 0 to {epochs - 1}")
        if (row.item_id, epoch) in found:
            raise PredictionError(f"{row.where}: a second {what} to {row.item_id!r}; keep one (or use --epochs)")
        found[row.item_id, epoch] = made(row, epoch)
    missing = [item.id for item in items if any((item.id, e) not in found for e in range(epochs))]
    if missing and not allow_missing:
        raise PredictionError(
            f"{path}: no {what} to {_some(missing)}; add the lines, or say --allow-missing to submit without them "
            "(a missing item is neither right nor wrong: it widens the interval)"
        )
    return found


def read_judge_files(
    paths: Sequence[Path], transcripts: Sequence[Transcript], *, panel: Panel, provider: str
) -> tuple[Verdict, ...]:
    """Read three judges' verdicts in layton-eval's format.

    A row is `{"custom_id", "model", "answer"}` where `answer` is the judge's reply, a JSON string with
    is_answer_correct and is_justification_correct. A reply that cannot be read is an unparsed verdict, never a mark.

    Raises:
        PredictionError: If there are not three files with one judge each, a judge shares the model's provider, or
            lines are malformed, unknown, doubled or missing.
    """
    if len(paths) != 3:
        raise PredictionError(f"--judge-files takes three files, one a judge, not {len(paths)}")
    if any(t.epoch for t in transcripts):
        raise PredictionError("--judge-files has no field for repeats; use it with --epochs 1")
    answered = {t.item_id: t for t in transcripts if not t.no_answer}
    given_up = frozenset(t.item_id for t in transcripts if t.no_answer)
    providers = {seat.judge: seat.model.provider for seat in panel.seats}
    verdicts: list[Verdict] = []
    judges: dict[str, Path] = {}
    for path in paths:
        by_item = _judge_file(path, frozenset(answered) | given_up)
        (judge,) = {name for name, _ in by_item.values()}
        if judge in judges:
            raise PredictionError(f"{path}: judge {judge!r} again, {judges[judge]} is of the same; three judges sit")
        if panel.excludes_own_provider and providers.get(judge) == provider:
            raise PredictionError(f"{path}: judge {judge!r} is of the model's own provider {provider!r}; take another")
        judges[judge] = path
        missing = [i for i in answered if i not in by_item]
        if missing:
            raise PredictionError(f"{path}: no verdict on {_some(missing)}; a score needs three on each answer")
        for item_id, transcript in answered.items():
            verdicts.append(_verdict(transcript, judge, providers.get(judge), by_item[item_id][1]))
    return tuple(verdicts)


def _judge_file(path: Path, known: frozenset[str]) -> dict[str, tuple[str, str]]:
    by_item: dict[str, tuple[str, str]] = {}
    for row in _rows(path, known):
        judge = _text(row, "model")
        if row.item_id in by_item:
            raise PredictionError(f"{row.where}: a second verdict on {row.item_id!r}; keep one")
        if any(other != judge for other, _ in by_item.values()):
            raise PredictionError(f"{row.where}: judge {judge!r} in the file of another; give each judge its own file")
        # Some exports hold the marks as fields instead of as a reply.
        reply = row.fields if "is_answer_correct" in row.fields else None
        by_item[row.item_id] = (judge, json.dumps(reply) if reply else _text(row, "answer"))
    if not by_item:
        raise PredictionError(f"{path}: holds no verdict")
    return by_item


def _verdict(transcript: Transcript, judge: str, provider: str | None, reply: str) -> Verdict:
    common: dict[str, Any] = {
        "transcript_id": transcript.transcript_id,
        "judge": judge,
        "provider": provider,
        "kind": "model",
        "reply": reply,
    }
    try:
        marks = read(reply, riddle.JudgeReply)
    except UnreadableError:
        return Verdict(**common, failure="unparsed")
    return Verdict(**common, **riddle.marked(**marks.model_dump()))


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:5])
    return f"{len(ids)} items ({shown}, ...)" if len(ids) > 5 else f"{len(ids)} item(s): {shown}"
