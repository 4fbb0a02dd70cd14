"""Bundles of novels, cases, puzzles and sealed runs with anything anywhere: findings come of it, never a traceback."""

import copy
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import vault
from builders.__main__ import main as builders
from builders.splits import list_built
from evaluators.bundle import TRANSCRIPTS, VERDICTS, read_bundle
from evaluators.check import Checked, check_bundle
from evaluators.check.sealed import check_sealed_bundle
from evaluators.estimate_cases import estimate_cases
from evaluators.estimate_means import estimate_means
from evaluators.hand_in import say
from evaluators.sealed_bundle import AGE, AGGREGATES, open_bundle
from evaluators.store import open_store
from evaluators.submit import main as submit
from leaderboard.review import summary
from tests import test_case_submit, test_novel_submit, test_sealed_runs
from tests.hostile import BIDI, put
from tests.made_case import built
from tests.made_case import table as case_table
from tests.made_novel import release
from tests.made_sealed import hold, key, riddles, runs_of, write
from tests.made_soup import write_made_games
from tests.servers.model_server import ModelServer

DESCRIPTION = "submission.yaml"
NOWHERE = Path("no-splits")
FEW = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


class Sound(NamedTuple):
    """A bundle without a fault."""

    files: dict[str, bytes]
    splits: Path

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a file."""
        if name == DESCRIPTION:
            return [yaml.safe_load(self.files[name])]
        return [json.loads(line) for line in zstandard.decompress(self.files[name]).splitlines()]

    def put_down(self, folder: Path) -> Path:
        """The bundle in a folder, in place of what stands there."""
        folder.mkdir(exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return folder


# What stands in place of a value: of every type, hidden, endless, or of another protocol.
ODD = [
    *(
        None,
        True,
        0,
        -1,
        1,
        7,
        0.5,
        -0.0,
        1e308,
        10**30,
        "",
        " ",
        "x" * 3000,
        BIDI,
        "\x00",
        "\x1b[2J",
        "../../etc/passwd",
    ),
    *(
        "s00.q1",
        "s99.q99",
        "s-1.q0",
        "letter",
        "answer",
        "no-answer",
        "rule",
        "model",
        "human",
        "riddle",
        "case",
        "novel",
    ),
    *([], {}, [[]], [[""]], [["a"], ["a", "b"]], [None], ["", ""], {"a": 1}, {"step_1": True}, {"reasoning": 0.5}),
    {"answer": "a clock", "justification": "it ticks"},
    {"kind": "novel", "letter": "A", "steps": ["so"]},
    {"kind": "case", "stages": [["a", "b"], ["c"]]},
    {"kind": "case", "stages": []},
    {"kind": "soup", "logic": [], "details": [], "conclusion": ""},
    {"setting": "evidence", "novel": "en/7"},
    '{"logic": [[1e999]], "details": [], "conclusion": [[]]}',
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in nested JSON but the whole."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield (*path, name)
        yield from places(one, (*path, name))


def changed(data: st.DataObject, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with one to three things wrong: a value, a field too few or too many, a row twice or in place of another."""
    rows = copy.deepcopy(rows)
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.sampled_from(rows)) if rows else {}
        where = data.draw(st.sampled_from(sorted(places(row), key=repr) or [("more",)]))
        holder: Any = row
        for name in where[:-1]:
            holder = holder[name]
        match data.draw(st.sampled_from(["value", "value", "value", "lost", "more", "swap", "twice"])):
            case "value":
                holder[where[-1]] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
            case "lost":
                del holder[where[-1]]
            case "more":
                row[data.draw(st.sampled_from(["answer", "failure", "game", "novel", "unit", "parts", "x"]))] = (
                    copy.deepcopy(data.draw(st.sampled_from(ODD)))
                )
            case "swap":
                other = data.draw(st.sampled_from(rows or [{}]))
                row |= {name: copy.deepcopy(other[name]) for name in [where[0]] if name in other}
            case "twice":
                rows.append(copy.deepcopy(row))
        if not rows:
            break
    return rows


def as_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def described(folder: Path, rows: Sequence[dict[str, Any]]) -> None:
    (folder / DESCRIPTION).write_text(yaml.safe_dump(rows[0] if rows else None, allow_unicode=True))


def is_readable(checked: Checked, capsys: pytest.CaptureFixture[str]) -> str:
    """What the check and the review say, once it is clear that a terminal and a page can show it."""
    capsys.readouterr()
    assert say(checked) == (0 if checked.accepted else 1)
    said = "".join(capsys.readouterr())
    for line in said.splitlines():
        assert len(line) <= 700
        assert line.isprintable()
        assert re.match(r"(refused|reported|accepted): ", line)
    told = summary(checked.findings)
    assert all(line.startswith("    ") for line in told.splitlines() if "[" in line), "text of a bundle is no mark-up"
    return said + told


@pytest.fixture(scope="module", params=["novel", "case", "soup"])
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sound:
    root = tmp_path_factory.mktemp(request.param)
    if request.param == "soup":
        folder = write_made_games(root)
        return Sound({p.name: p.read_bytes() for p in folder.iterdir()}, NOWHERE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEERSTALKER_STORE", str(root / "results.duckdb"))
        if request.param == "novel":
            release(root / "release", texts=test_novel_submit.NOVELS, **test_novel_submit.QUESTIONS)
            source = ["--source", str(root / "release"), "--out", str(root / "splits")]
            assert builders(["build", "detectiveqa-en", *source]) == 0
            with ModelServer(test_novel_submit.table) as server:
                assert submit(test_novel_submit.options(root, root / "splits", server)) == 0
        else:
            built(root / "splits", test_case_submit.CASES, "7.0.0")  # 1.0.0 is the project's own
            with ModelServer(case_table) as server:
                assert submit([*test_case_submit.options(root, server), "--split", "sample-case@7.0"]) == 0
    return Sound({p.name: p.read_bytes() for p in (root / "out/bundle").iterdir()}, root / "splits")


@FEW
@given(data=st.data())
def test_whatever_stands_in_a_bundle_the_check_ends_in_findings_and_what_it_accepts_can_be_shown(
    sound: Sound, tmp_path: Path, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    folder = sound.put_down(tmp_path / "bundle")
    name = data.draw(st.sampled_from([DESCRIPTION, TRANSCRIPTS, VERDICTS]))
    rows = changed(data, sound.rows(name))
    if name == DESCRIPTION:
        described(folder, rows)
    else:
        put(folder, name, zstandard.compress(as_lines(rows)), rows=len(rows))
    checked = check_bundle(folder, splits=sound.splits)
    is_readable(checked, capsys)
    if checked.accepted:
        bundle = read_bundle(folder)
        s = bundle.submission
        (tmp_path / "results.duckdb").unlink(missing_ok=True)
        with open_store(tmp_path / "results.duckdb") as store:
            store.write_submission(*bundle, tier="rejudged")
            estimate = estimate_cases if s.protocol == "case" else estimate_means
            estimate(store, s.split, s.version, s.jury, s.condition)


def test_the_bundles_that_are_spoiled_here_are_sound(
    sound: Sound, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked = check_bundle(sound.put_down(tmp_path / "bundle"), splits=sound.splits)
    assert "accepted" in is_readable(checked, capsys)


class Sealed(NamedTuple):
    """A sealed bundle without a fault, its evidence in clear, and whom it is encrypted for."""

    whole: Sound
    opened: dict[str, list[dict[str, Any]]]
    recipients: tuple[str, ...]
    key: Path


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    root = tmp_path_factory.mktemp("sealed")
    file, recipient = key(root / "keys", "own")
    write(riddles(), root / "splits", recipient)
    with pytest.MonkeyPatch.context() as patch, ModelServer(test_sealed_runs.talkative) as server:
        hold(patch, file)
        patch.setenv("DEERSTALKER_STORE", str(root / "results.duckdb"))
        assert submit(test_sealed_runs.options(root, server.url)) == 0
        folder = root / "runs/one/bundle"
        bundle = open_bundle(folder)
        opened = {
            TRANSCRIPTS: [t.model_dump(mode="json", exclude_defaults=True) for t in bundle.transcripts],
            VERDICTS: [v.model_dump(mode="json", exclude_defaults=True) for v in bundle.verdicts],
        }
        (manifest,) = list_built(root / "splits")
        whole = Sound({p.name: p.read_bytes() for p in folder.iterdir()}, root / "splits")
    return Sealed(whole, opened, manifest.sealed_for, file)


@FEW
@given(data=st.data(), held=st.booleans())
def test_whatever_stands_in_a_sealed_bundle_the_check_ends_in_findings_that_quote_nothing_of_it(
    sealed: Sealed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    data: st.DataObject,
    held: bool,
) -> None:
    """Anyone can encrypt for the split's recipients, so what the ciphertext holds is a stranger's, too."""
    hold(monkeypatch, sealed.key if held else None)
    folder = sealed.whole.put_down(tmp_path / "bundle")
    name = data.draw(st.sampled_from([DESCRIPTION, AGGREGATES, TRANSCRIPTS, VERDICTS]))
    if name == DESCRIPTION:
        described(folder, changed(data, sealed.whole.rows(name)))
    elif name == AGGREGATES:
        rows = changed(data, [json.loads(line) for line in sealed.whole.files[name].splitlines()])
        put(folder, name, as_lines(rows), rows=len(rows))
    else:
        rows = changed(data, sealed.opened[name])
        packed = zstandard.compress(as_lines(rows))
        put(folder, name + AGE, vault.encrypt(packed, sealed.recipients), rows=len(rows))
    said = is_readable(check_sealed_bundle(folder, splits=sealed.whole.splits), capsys).encode()
    assert not [secret for secret in runs_of(riddles().items) | test_sealed_runs.DERIVED if secret in said]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [("answer", ..., "does not hold rows of a Transcript"), ("transcript_id", "f" * 16, "no numbers come of it")],
)
def test_evidence_that_a_stranger_encrypted_is_refused_in_one_line(
    sealed: Sealed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    field: str,
    value: object,
    says: str,
) -> None:
    hold(monkeypatch, sealed.key)
    folder = sealed.whole.put_down(tmp_path / "bundle")
    rows = copy.deepcopy(sealed.opened[TRANSCRIPTS])
    rows[0] = {name: one for name, one in (rows[0] | {field: value}).items() if one is not ...}
    packed = zstandard.compress(as_lines(rows))
    put(folder, TRANSCRIPTS + AGE, vault.encrypt(packed, sealed.recipients), rows=len(rows))
    said = is_readable(check_sealed_bundle(folder, splits=sealed.whole.splits), capsys)
    assert says in said
    assert submit(["--check", str(folder), "--splits", str(sealed.whole.splits)]) == 1
