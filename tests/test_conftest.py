"""The suite's own guards hold."""

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

OUTSIDE = "192.0.2.1"  # reserved for documentation: nothing answers there


WAYS: dict[str, Callable[[socket.socket], object]] = {
    "connect": lambda sock: sock.connect((OUTSIDE, 80)),
    "connect_ex": lambda sock: sock.connect_ex((OUTSIDE, 80)),
    "create_connection": lambda _: socket.create_connection((OUTSIDE, 80), timeout=1),
    "by name": lambda _: socket.getaddrinfo("example.org", 80),
    "asyncio": lambda _: asyncio.run(asyncio.wait_for(asyncio.open_connection(OUTSIDE, 80), 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_address_outside_the_machine_is_refused_and_noted(way: str, network_attempts: list[str]) -> None:
    with socket.socket() as sock, pytest.raises(Exception, match="tests talk to loopback only"):
        WAYS[way](sock)
    assert network_attempts
    network_attempts.clear()  # this test alone may knock at the door and pass


def test_the_store_of_a_test_lies_in_its_own_folder(tmp_path: Path) -> None:
    assert Path(os.environ["DEERSTALKER_STORE"]).parent == tmp_path


@given(st.integers())
def test_the_guards_do_not_disturb_property_tests(value: int) -> None:
    assert f"{value}-{os.environ['DEERSTALKER_STORE']}".endswith("results.duckdb")


def test_a_golden_file_that_is_missing_names_the_flag_that_writes_it(
    golden: Callable[[str, str], None], request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--rewrite-golden"):
        pytest.skip("golden files are being rewritten")
    with pytest.raises(AssertionError, match="--rewrite-golden"):
        golden("no-such-file.json", "{}")


def test_a_golden_file_that_differs_fails_and_the_flag_rewrites_it(pytester: pytest.Pytester) -> None:
    kept = pytester.path / "tests" / "golden" / "a.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("old")
    pytester.makepyfile(**{"tests/conftest": (Path(__file__).parent / "conftest.py").read_text()})
    pytester.makepyfile(**{"tests/test_a": "def test_a(golden):\n    golden('a.txt', 'new')\n"})
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(failed=1)
    assert kept.read_text() == "old"
    pytester.runpytest_inprocess("--rewrite-golden").assert_outcomes(passed=1)
    assert kept.read_text() == "new"


def test_a_missing_part_skips_unless_it_is_required(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(conftest=(Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile("def test_a(chromium):\n    pass\n")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("DEERSTALKER_REQUIRE", raising=False)
    pytester.runpytest_inprocess().assert_outcomes(skipped=1)
    monkeypatch.setenv("DEERSTALKER_REQUIRE", "chromium,local-model")
    pytester.runpytest_inprocess().assert_outcomes(errors=1)


def test_a_swallowed_attempt_to_leave_the_machine_still_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(conftest=(Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(
        f"""
        import socket
        def test_a():
            try:
                socket.create_connection(("{OUTSIDE}", 80), timeout=1)
            except Exception:
                pass
        """
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=1, errors=1)
