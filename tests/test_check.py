"""The check of bundles: sound ones pass, each hostile one gets a finding that says where and what to do."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluators.check import Limits, check_bundle
from evaluators.hand_in import schema
from evaluators.submit import main as submit
from tests.hostile import HOSTILE, Hostile, put
from tests.made_bundle import made_bundle, write_made_bundle

ROOT = Path(__file__).resolve().parent.parent
NOWHERE = Path("no-splits")


def tree(folder: Path) -> dict[str, int]:
    return {str(p): p.lstat().st_mtime_ns for p in sorted(folder.rglob("*"))}


def kinds(folder: Path, **options: object) -> list[str]:
    return [f.kind for f in check_bundle(folder, splits=NOWHERE, **options).findings]


def test_a_sound_bundle_is_accepted_without_a_word(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path / "board")
    assert kinds(folder, board=tmp_path / "board", placed=True) == []


def test_the_suite_holds_at_least_sixty_hostile_bundles_of_different_names() -> None:
    assert len({h.name for h in HOSTILE}) == len(HOSTILE) >= 60


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda h: h.name)
def test_a_hostile_bundle_ends_with_readable_findings_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], hostile: Hostile
) -> None:
    folder = write_made_bundle(tmp_path / "board")
    hostile.spoil(folder)
    before, began = tree(tmp_path), time.process_time()
    assert submit(["--check", str(folder), "--splits", str(NOWHERE), "--board", str(tmp_path / "other")]) == 1
    assert time.process_time() - began < 5
    assert tree(tmp_path) == before
    said = capsys.readouterr()
    assert f"[{hostile.kind}]" in said.err, said.err
    for line in (said.err + said.out).splitlines():
        assert len(line) <= 700
        assert line.isprintable()
        assert re.match(r"(refused|reported): ", line), "no line may begin as a bundle wants it to"


def test_the_largest_hostile_bundles_stay_below_300_megabytes(tmp_path: Path) -> None:
    heavy = [h for h in HOSTILE if re.search(r"million|MB|thousand|deep|without|bomb|endless|too many", h.name)]
    for n, hostile in enumerate(heavy):
        hostile.spoil(write_made_bundle(tmp_path / str(n)))
    child = (
        "import sys, time\nfrom pathlib import Path\nfrom evaluators.submit import main\n"
        "for n in range(int(sys.argv[2])):\n"
        "    began = time.process_time()\n"
        "    bundle = next(p for p in Path(sys.argv[1], str(n), 'samples').iterdir() if p.name == 'acme-1')\n"
        "    assert main(['--check', str(bundle), '--splits', 'no-splits']) == 1\n"
        "    assert time.process_time() - began < 5, n\n"
        # Not getrusage: its peak is inherited from the process that started this one.
        "print(next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM')) // 1024)\n"
    )
    command = [sys.executable, "-c", child, str(tmp_path), str(len(heavy))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert int(done.stdout.split()[-1]) < 300


def test_the_check_imports_nothing_heavy() -> None:
    child = "import sys, evaluators.check; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", child], cwd=ROOT, capture_output=True, text=True, check=True)
    heavy = {"litellm", "datasets", "huggingface_hub", "duckdb", "pyarrow", "numpy", "scipy", "PIL", "rich", "httpx"}
    assert not heavy & set(done.stdout.split())


def test_all_findings_come_at_once_and_a_repeated_one_is_counted(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path)
    wanted = {"a judge not named", "an unknown item", "a script as address", "a tier file"}
    for hostile in HOSTILE:
        if hostile.name in wanted:
            hostile.spoil(folder)
    assert {"judge", "unknown-id", "url", "other-file"} <= set(kinds(folder))
    for hostile in HOSTILE:
        if hostile.name == "a hundred thousand rows":
            hostile.spoil(folder)
    lines = [str(f) for f in check_bundle(folder, splits=NOWHERE).findings if f.kind == "row"]
    assert len(lines) == 6
    assert "more of this kind" in lines[-1]


def test_a_finding_names_the_line(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path)
    text = (folder / "submission.yaml").read_text().replace("provider: acme", "provider: A C M E")
    (folder / "submission.yaml").write_text(text)
    line = next(n for n, row in enumerate(text.splitlines(), start=1) if "A C M E" in row)
    (finding,) = check_bundle(folder, splits=NOWHERE).findings.refused
    assert finding.where.endswith(f"submission.yaml:{line}")


def test_a_check_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path)
    (finding,) = check_bundle(folder, splits=NOWHERE, limits=Limits(seconds=-1)).findings.refused
    assert finding.kind == "time"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_no_mutation_of_a_bundle_makes_the_check_fail_in_any_other_way(tmp_path: Path, data: st.DataObject) -> None:
    folder = write_made_bundle(tmp_path / "board")
    name = data.draw(st.sampled_from(sorted(p.name for p in folder.iterdir())))
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=12))
    (folder / name).write_bytes(content) if name == "submission.yaml" else put(folder, name, bytes(content))
    for finding in check_bundle(folder, splits=NOWHERE).findings:
        assert str(finding).isprintable()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(key=st.integers(0, 40), value=json_values)
def test_no_value_in_any_field_makes_the_check_fail_in_any_other_way(tmp_path: Path, key: int, value: object) -> None:
    folder = write_made_bundle(tmp_path / "board")
    import yaml

    described = yaml.safe_load((folder / "submission.yaml").read_text())
    names = list(described)
    described[names[key % len(names)]] = value
    (folder / "submission.yaml").write_text(yaml.safe_dump(described, allow_unicode=True))
    for finding in check_bundle(folder, splits=NOWHERE).findings:
        assert str(finding).isprintable()


def test_the_published_schema_is_that_of_the_values_and_a_bundle_fits_it(tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator

    published = json.loads((ROOT / "site/docs/bundle.schema.json").read_text())
    assert published == schema(), "python -m evaluators.submit --schema > site/docs/bundle.schema.json"
    Draft202012Validator.check_schema(published)
    submission, transcripts, verdicts = made_bundle()
    for value in (submission, *transcripts[:3], *verdicts[:3]):
        kind = {"$ref": f"#/$defs/{type(value).__name__}"} | {"$defs": published["$defs"]}
        Draft202012Validator(kind).validate(value.model_dump(mode="json"))
        refused = value.model_dump(mode="json") | {"score_of_my_own": 1}
        assert not Draft202012Validator(kind).is_valid(refused)


def cases() -> dict[str, tuple[dict[str, object], dict[str, object], str]]:
    """What stands already, what is sent, and the finding the handbook promises."""
    other = {"answer": lambda n: (f"other {n}", f"for reason {n} of mine")}
    return {
        "the same model from two places": ({}, other, "same-model"),
        "somebody's answers under another name": ({}, {"model": "mine/new", "provider": "mine"}, "copied-answers"),
        "an item too few": ({}, {**other, "leave_out": (3,)}, "missing"),
        "three answers to each item": ({}, {**other, "epochs": 3}, "epochs"),
    }


@pytest.mark.parametrize("case", cases())
def test_what_is_allowed_and_worth_knowing_is_reported(tmp_path: Path, case: str) -> None:
    standing, sent, kind = cases()[case]
    long = {"answer": lambda n: (f"answer {n}", f"because of clue {n} and of no other clue that {n} has")}
    write_made_bundle(tmp_path, "standing-1", **(long | standing))
    folder = write_made_bundle(tmp_path, "sent-1", **(long | sent))
    checked = check_bundle(folder, splits=NOWHERE, board=tmp_path, placed=True)
    assert checked.accepted
    assert kind in [f.kind for f in checked.findings.reported]


def test_an_older_version_of_a_split_is_told_that_a_newer_one_is_on_the_board(tmp_path: Path) -> None:
    newer = made_bundle("newer-1")
    folder = tmp_path / "samples/newer-1"
    from evaluators.bundle import write_bundle

    transcripts = [t.model_copy(update={"split": "sample-llm@1.1.0"}) for t in newer.transcripts]
    folder.parent.mkdir()
    write_bundle(folder, newer.submission.model_copy(update={"version": "1.1.0"}), transcripts, newer.verdicts)
    assert "older-version" in kinds(write_made_bundle(tmp_path, "older-1"), board=tmp_path)
    assert "split" in kinds(folder), "nobody knows this version here: its index is missing"


def test_a_name_that_is_taken_is_refused_and_a_wrong_folder_too(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path / "sent", "acme-1")
    write_made_bundle(tmp_path / "board", "acme-1")
    assert kinds(folder, board=tmp_path / "board") == ["name-taken"]
    folder.rename(folder.with_name("acme-2"))
    assert kinds(folder.with_name("acme-2"), placed=True) == ["place"]


def test_pack_puts_a_runs_bundle_in_its_place_and_never_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_made_bundle(tmp_path / "runs")
    where = ["--splits", str(NOWHERE), "--board", str(tmp_path / "board")]
    assert submit(["--pack", str(folder), *where]) == 0
    assert "next: python -m evaluators.submit --open-pr" in capsys.readouterr().out
    packed = tmp_path / "board/samples/acme-1"
    assert {p.name: p.read_bytes() for p in packed.iterdir()} == {p.name: p.read_bytes() for p in folder.iterdir()}
    assert submit(["--pack", str(folder), *where]) == 1
    assert "never replaced" in capsys.readouterr().err


def test_pack_writes_nothing_where_the_check_refuses(tmp_path: Path) -> None:
    folder = write_made_bundle(tmp_path / "runs", url="javascript:alert(1)")
    assert submit(["--pack", str(folder), "--splits", str(NOWHERE), "--board", str(tmp_path / "board")]) == 1
    assert not (tmp_path / "board").exists()


def test_the_1674_real_answers_pass(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    """Nine bundles of layton-eval's released answers: nothing is refused, and what detectors report is rare."""
    from tests.made_release import write_release_bundles, write_release_split

    split = write_release_split(real_data("layton_eval/scrape/layton_eval_llm.partial.jsonl"), tmp_path / "splits")
    written = write_release_bundles(real_data("layton_eval/ppi/ppi_llm.jsonl"), split, tmp_path / "board")
    answers, reported = 0, []
    for folder in written:
        checked = check_bundle(folder, splits=tmp_path / "splits", board=tmp_path / "board", placed=True)
        assert checked.accepted, [str(f) for f in checked.findings.refused]
        answers += len(split.items)
        reported += [f.kind for f in checked.findings.reported]
    assert answers == 1674
    # Measured on these answers: 4 of 1,674 speak to a judge, all of them a model's own broken `</answer>` tags.
    assert reported.count("addresses-judge") == 4
    assert not {"constant-answer", "near-duplicate", "copied-gold", "copied-answers"} & set(reported)
