"""Bundles: equal values make equal bytes, and every way in which one can be wrong is refused."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
import zstandard

from evaluators.bundle import TRANSCRIPTS, VERDICTS, Bundle, BundleError, read_bundle, write_bundle
from evaluators.protocols.riddle import marked
from evaluators.values import Counts, Model, RiddleAnswer, Submission, Transcript, Verdict


def made(seconds: float = 1.0) -> Bundle:
    submission = Submission(
        submission_id="any-1",
        benchmark="samples",
        split="sample-llm",
        version="1.0.0",
        split_sha256="0" * 64,
        protocol="riddle",
        condition="hints=0",
        model=Model(name="a/b", provider="maker"),
        jury="layton",
        judges=("one", "three", "two"),
        date="2026-11-21",
        counts=Counts(expected=2, scored=2, no_answer=0, unjudged=0, failed=0, missing=0),
        note="ümläut: [brackets]",
    )
    transcripts = tuple(
        Transcript(
            transcript_id=f"{n:016}",
            split="sample-llm@1.0.0",
            item_id=f"r-{n}",
            model="a/b",
            protocol="riddle",
            condition="hints=0",
            answer=RiddleAnswer(answer="谜", justification="so\u2028so"),
            seconds=seconds,
        )
        for n in range(2)
    )
    verdicts = tuple(
        Verdict(
            transcript_id=t.transcript_id,
            judge=judge,
            kind="model",
            **marked(is_answer_correct=True, is_justification_correct=True),
        )
        for t in transcripts
        for judge in ("one", "three", "two")
    )
    return Bundle(submission, transcripts, verdicts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "b", *made())
    return tmp_path / "b"


def digests(folder: Path) -> dict[str, str]:
    return {p.name: sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def test_a_bundle_comes_back_as_it_was_without_wall_clock_times(folder: Path) -> None:
    submission, transcripts, verdicts = read_bundle(folder)
    assert verdicts == made().verdicts
    assert transcripts == tuple(t.model_copy(update={"seconds": None}) for t in made().transcripts)
    assert submission.model_copy(update={"files": ()}) == made().submission


def test_equal_replies_make_equal_bytes_however_long_they_took(folder: Path, tmp_path: Path) -> None:
    write_bundle(tmp_path / "c", *made(seconds=99.0))
    assert digests(folder) == digests(tmp_path / "c")


def test_a_bundle_is_replaced_whole_or_not_at_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digests(folder)

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            write_bundle(folder, *made())
    assert digests(folder) == before
    assert [p.name for p in folder.parent.iterdir()] == ["b"]
    write_bundle(folder, *made())
    assert digests(folder) == before


def rewrite(folder: Path, name: str, change: Callable[[str], str]) -> None:
    """Change the rows of a file and correct its digest, as someone who means it would."""
    text = zstandard.decompress((folder / name).read_bytes()).decode()
    data = zstandard.compress(change(text).encode())
    (folder / name).write_bytes(data)
    described = yaml.safe_load((folder / "submission.yaml").read_text())
    for file in described["files"]:
        if file["name"] == name:
            file["sha256"] = sha256(data).hexdigest()
    (folder / "submission.yaml").write_text(yaml.safe_dump(described))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (TRANSCRIPTS, lambda t: t.replace('"a/b"', "7", 1), r"transcripts\.jsonl\.zst:1: model"),
        (TRANSCRIPTS, lambda t: t.replace("r-1", "../x"), r"transcripts\.jsonl\.zst:2: item_id"),
        (TRANSCRIPTS, lambda t: t.replace('"epoch"', '"x"').replace("{", '{"more":1,', 1), r":1: more"),
        (TRANSCRIPTS, lambda t: t.split("\n")[0] * 2, r":1: row"),
        (TRANSCRIPTS, lambda t: (t.split("\n")[0] + "\n") * 2, "stands twice"),
        (TRANSCRIPTS, lambda t: t.split("\n")[0] + "\n", "1 rows, submission.yaml says 2"),
        (TRANSCRIPTS, lambda t: t.replace("@1.0.0", "@1.0.1"), "another split"),
        (VERDICTS, lambda t: t.replace('"score":1.0', '"score":NaN', 1), r"verdicts\.jsonl\.zst:1"),
        (VERDICTS, lambda t: t.replace("three", "one"), ":2: a second verdict of this judge"),
        (VERDICTS, lambda t: t.replace("0000000000000001", "0000000000000009"), "on no transcript"),
        (VERDICTS, lambda t: t.replace('"score":1.0', '"score":1.0,"failure":"timeout"', 1), "exactly one of"),
        (VERDICTS, lambda t: "x" * (9 * 2**20), "unpacks to more"),
    ],
)
def test_evidence_that_is_not_as_it_should_be_is_refused(
    folder: Path, name: str, change: Callable[[str], str], message: str
) -> None:
    rewrite(folder, name, change)
    with pytest.raises(BundleError, match=message):
        read_bundle(folder)


def test_a_flipped_byte_is_found(folder: Path) -> None:
    data = bytearray((folder / VERDICTS).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / VERDICTS).write_bytes(data)
    with pytest.raises(BundleError, match="sha256 is not the one"):
        read_bundle(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("any-1", "../../x"), "submission_id"),
        (lambda t: t.replace("date: '2026-11-21'", "date: 2026-11-21"), "date"),
        (lambda t: t + "tier: scored-here\n", "tier"),
        (lambda t: t + "a: &x [1]\nb: *x\n", "aliases are not allowed"),
        (lambda t: t + "c: !!python/object/apply:os.system [ls]\n", "tags are not allowed"),
        (lambda t: t.replace(VERDICTS, "../" + VERDICTS), "files must be"),
        (lambda t: "[" * 5000, "submission.yaml"),
        (lambda t: "a" * 300_000, "larger than"),
        (lambda t: t.replace("a/b", "a\\u202Eb").replace("name: a", 'name: "a').replace("Eb\n", 'Eb"\n'), "model.name"),
    ],
)
def test_a_submission_file_that_is_not_one_is_refused(folder: Path, change: Callable[[str], str], message: str) -> None:
    path = folder / "submission.yaml"
    path.write_text(change(path.read_text()))
    with pytest.raises(BundleError, match=message):
        read_bundle(folder)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / VERDICTS).rename(tmp_path / "elsewhere")
    (folder / VERDICTS).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BundleError, match="a plain file is expected"):
        read_bundle(folder)
