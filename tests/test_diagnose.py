"""The commands for maintainers: diagnostics of a board, and one model against another."""

from functools import partial
from pathlib import Path

import pytest

from evaluators.fit import fit_split
from evaluators.store import open_store, store_path
from leaderboard.__main__ import main
from leaderboard.diagnose import diagnose
from leaderboard.versus import versus
from tests.made_runs import made_run

quick = partial(fit_split, draws=200, max_sweeps=300)
KEY = ("layton-llm", "1.0.0", "three")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Six models that labels agree with the jury on, and one that only looks right to the jury."""
    with open_store(store_path()) as made:
        honest = ["3+", "0-"] * 12 + ["2+", "1-"] * 2
        made.write_submission(*made_run("strong", [*honest, *["3"] * 12], provider="a"), tier="scored-here")
        made.write_submission(*made_run("weak", [*honest, *["0"] * 12], provider="b"), tier="scored-here")
        for n in range(4):
            made.write_submission(*made_run(f"m{n}", honest, provider=f"p{n}"), tier="scored-here")
        flattered = ["3-"] * 20 + ["3+"] * 4 + ["0-"] * 4 + ["3"] * 12
        made.write_submission(*made_run("flattered", flattered, provider="c"), tier="scored-here")
    return store_path()


def test_a_model_the_jury_flatters_is_flagged_and_its_provider_is_foretold_too_high(store: Path) -> None:
    with open_store(store) as opened:
        models, judges, providers, left_out = diagnose(opened, *KEY, fit=quick)
    flagged = {line[0]: line[2] for line in models[2]}
    assert flagged["c/flattered"] == "NO"
    assert {flagged[f"p{n}/m{n}"] for n in range(4)} == {"yes"}
    assert {line[0] for line in providers[2]} == {"a", "b", "c", "p0", "p1", "p2", "p3"}
    assert all(int(line[5]) >= 20 for line in judges[2]), "twenty lenient votes of each judge"
    bias = {line[0]: float(line[5]) for line in left_out[2]}
    assert bias["c"] > 40
    assert "missed" in next(line[4] for line in left_out[2] if line[0] == "c")


def test_a_clearly_better_model_is_told_from_a_worse_one_and_signs_swap(store: Path) -> None:
    with open_store(store) as opened:
        won = versus(opened, KEY, "hints=0", "a/strong", "b/weak", fit=quick)
        lost = versus(opened, KEY, "hints=0", "weak", "a/strong", fit=quick)
    assert won.items == 40
    assert not won.these.undecided
    assert won.these.interval.low > 0.1
    assert lost.these.interval.point == pytest.approx(-won.these.interval.point, abs=0.03)
    assert won.wins + won.losses + won.ties == pytest.approx(40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diagnose", "no-such"], "it has layton-llm"),
        (["diagnose", "layton-llm", "--jury", "other"], "three did"),
        (["compare", "layton-llm", "a/strong", "nobody"], "no ranked model 'nobody'"),
        (["compare", "layton-llm", "a/strong", "strong"], "are one submission"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
