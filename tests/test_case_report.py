"""How people and models go about cases: from bundles to what the paper's tables say."""

import re
from pathlib import Path

import numpy as np
import pytest

from builders.splits import Split
from evaluators.bundle import write_bundle
from leaderboard.__main__ import main
from leaderboard.case_analysis import grade_agreement
from leaderboard.case_report import KINDS
from tests.made_case import Grades, built, case, flat, run

SIZES = {f"{n}": (4, 3) for n in range(8)}


def split_of(tmp_path: Path) -> Split:
    """Eight cases of different length, their questions rated without a pattern."""
    rng = np.random.default_rng(3)
    cases = []
    for name, (locations, questions) in SIZES.items():
        made = case(name, locations, questions, introduction="word " * int(400 * (1 + int(name))))
        rated = []
        for q in made.questions:
            full, start = (dict(zip(KINDS, map(int, x), strict=True)) for x in rng.integers(0, 5, (2, 3)))
            rated.append({**q.model_dump(), "rating": full, "intro_rating": start})
        cases.append(case(name, locations, questions, introduction=made.introduction, questions=rated))
    return built(tmp_path / "splits", cases)


def write(tmp_path: Path, name: str, tables: dict[str, Grades], **fields: object) -> None:
    bundle = run(name, tables, sizes=SIZES, **fields)
    write_bundle(tmp_path / "runs" / name, *bundle)


def report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    given = ["cases", "--split", "sample-case@1.0", "--splits", str(tmp_path / "splits"), str(tmp_path / "runs")]
    assert main(given) == 0
    return capsys.readouterr().out


def test_longer_cases_are_found_to_be_harder_for_the_model_that_they_are_harder_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split_of(tmp_path)
    order = {name: [3, 2, 1, 0] for name in SIZES}
    for person in ("ada", "ben"):
        write(tmp_path, person, {n: flat(1 + int(n) % 2, *SIZES[n]) for n in SIZES}, provider="human", orders=order)
    # 3 on the four short cases, 0 on the four long ones, and people's grades of one case agree in part.
    grades = {n: flat(3 if int(n) < 4 else 0, *SIZES[n]) for n in SIZES}
    write(tmp_path, "bold", grades, human={"0": flat(2, 4, 3)})
    said = report(tmp_path, capsys)
    assert "bundles: 1 of models, 2 of people" in said
    assert "highest achievable, at least   2.25 of 3" in said, "3 on the short cases, people's 1 or 2 on the long ones"
    assert re.search(r"people among themselves +r = 1.00 .*1 pairs", said)
    assert re.search(r"bold and people +r = -1.00 .*2 pairs", said)
    words = re.search(r"overall +thousand words +(\S+) \[(\S+), (\S+)\] 95 %", said)
    assert words
    assert float(words[1]) < -0.5
    assert float(words[3]) < 0
    assert len(re.findall(r"after the introduction .* 90 %", said)) == 3
    assert "outliers among the questions: 0" in said
    assert re.search(r"grades, x +0.0 % as people, RMS 1.00 \(15 pairs\)", said)


def test_bundles_graded_in_several_ways_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split_of(tmp_path)
    every = {n: flat(1, *SIZES[n]) for n in SIZES}
    write(tmp_path, "one", every)
    write(tmp_path, "two", every, condition="scheme=simple;grader=5;rubrics=00000000")
    given = ["cases", "--split", "sample-case@1.0", "--splits", str(tmp_path / "splits"), str(tmp_path / "runs")]
    assert main(given) == 1
    assert "graded in 2 ways" in capsys.readouterr().err
    assert main([*given[:-1], str(tmp_path / "splits")]) == 1
    assert "holds no bundle" in capsys.readouterr().err


def test_without_people_there_is_no_comparison_and_a_failed_case_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    split_of(tmp_path)
    tables: dict[str, Grades | None] = {n: flat(2, *SIZES[n]) for n in SIZES}
    write(tmp_path, "one", {**tables, "3": None})  # type: ignore[dict-item]
    said = report(tmp_path, capsys)
    assert "nobody has played these cases yet" in said
    assert "2.00 of 3" in said


def test_agreement_of_graders_is_exact_share_and_root_mean_square() -> None:
    """As in the paper's Table 2, worked out by hand: 2 of 4 the same, differences 0, 0, 1 and -2."""
    share, rms = grade_agreement(np.array([3.0, 2, 1, 0]), np.array([3.0, 2, 0, 2]))
    assert (share, rms) == (0.5, pytest.approx(np.sqrt(5 / 4)))
    with pytest.raises(ValueError, match="same answers"):
        grade_agreement(np.array([1.0]), np.array([1.0, 2.0]))
