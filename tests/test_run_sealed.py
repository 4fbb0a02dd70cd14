"""A sent model on a sealed split: asked as it was in public, whatever words its submission holds."""

from pathlib import Path

import pytest

from builders.sealed import seal_split
from evaluators.run_sealed import command, main, parser
from evaluators.submit import parser as submit_parser
from evaluators.values import Decoding, Model, Submission
from tests.made_bundle import made_bundle, write_made_bundle
from tests.made_case import case, made_split
from tests.made_case import run as played
from tests.made_sealed import key, riddles

GIVEN = ["bundle", "--split=x", "--out=run", "--api-base=http://gateway", "--spend-cap=5", "--price="]
WARM = Decoding(temperature=0.0, max_tokens=900, reasoning_effort="high", seed=3, json_schema=False)


def asked(sent: Submission, tmp_path: Path, *, cases: bool = False):  # type: ignore[no-untyped-def]
    _, recipient = key(tmp_path, "own")
    manifest, _ = seal_split(made_split([case()]) if cases else riddles(), [recipient])
    return submit_parser().parse_args(command(sent, manifest, parser().parse_args(GIVEN)))


def test_a_case_is_asked_with_the_scheme_and_graded_in_the_mode_of_the_public_run(tmp_path: Path) -> None:
    told = "scheme=revision;grader=3;first=2"
    sent = played("one", {"a": None}, condition=told, epochs=3).submission
    options = asked(
        sent.model_copy(update={"model": Model(name="m/x", provider="acme", decoding=WARM)}), tmp_path, cases=True
    )
    assert (options.scheme, options.grader_mode, options.epochs, options.limit) == ("revision", 3, 3, None)
    assert (options.temperature, options.max_tokens, options.reasoning_effort, options.seed) == (0.0, 900, "high", 3)
    assert options.no_json_schema
    assert (options.max_cost, options.price, options.yes) == (5.0, None, False)
    assert options.api_base == options.judge_api_base == "http://gateway"


def test_a_model_of_another_kind_of_item_is_asked_in_the_usual_way(tmp_path: Path) -> None:
    options = asked(made_bundle(condition="hints=2").submission, tmp_path, cases=True)
    assert (options.hints, options.scheme, options.grader_mode) == (0, None, None)
    assert asked(made_bundle(condition="hints=2").submission, tmp_path / "more").hints == 2


@pytest.mark.parametrize("name", ["--yes", "--out=/tmp/elsewhere", "a b --max-cost=1e9", "-h", "=", "openai/x;y"])
def test_a_name_never_becomes_an_option(tmp_path: Path, name: str) -> None:
    options = asked(made_bundle(model=name).submission, tmp_path)
    assert (options.model, options.out, options.max_cost, options.yes) == (name, Path("run"), 5.0, False)


def test_a_bundle_that_is_refused_names_no_model_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_made_bundle(tmp_path)
    (folder / "conftest.py").write_text("raise SystemExit")
    argv = [str(folder), "--split=sample-vlm", "--out", str(tmp_path / "run"), "--api-base=http://127.0.0.1:9"]
    assert main([*argv, "--spend-cap=1"]) == 1
    assert "[other-file]" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
