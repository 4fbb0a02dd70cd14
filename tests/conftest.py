"""What every test stands on: no network, a store of its own, golden files, and real parts or a stated reason.

`DEERSTALKER_REAL_DATA` (default `../shared/data`) names a folder of real releases; a test that needs one is skipped
where it is missing. `DEERSTALKER_REQUIRE=chromium,local-model` turns the skips of these two into failures, for CI.
"""

import os
import shutil
import signal
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from evaluators.local_model import LocalModel

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
PATIENCE = 30_000  # milliseconds until a browser must show what a test expects; a machine with other work needs some
PROXIES = ("http_proxy", "https_proxy", "all_proxy")
# How long an example takes says how laden the machine is.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


class NetworkUsedError(Exception):
    """A test tried to leave the machine; not an OSError, so that no retry takes it for a bad connection."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write tests/golden anew; read the diff before commit"
    )


def pytest_configure(config: pytest.Config) -> None:
    needs = "needs Chromium, the local model or a schema of others; set by the fixtures it asks for"
    config.addinivalue_line("markers", f"real_parts: {needs}")
    config.addinivalue_line("markers", "chromium: needs Chromium; set likewise")
    # What a shell starts in its background is deaf to Ctrl-C, and so are its children: tests that send it would hang.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if {"chromium", "weights", "every_eval_ever_schema"} & fixtures:
            item.add_marker("real_parts")
        if "chromium" in fixtures:
            item.add_marker("chromium")


@pytest.fixture(autouse=True)
def network_attempts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuse every address but loopback in this process and list what was tried; a refusal fails the test."""
    attempts: list[str] = []

    def refuse(host: object) -> NoReturn:
        attempts.append(str(host))
        raise NetworkUsedError(f"a test reached for {host!r}; tests talk to loopback only")

    def guarded_connect(real: Callable[..., object]) -> Callable[..., object]:
        def connect(self: socket.socket, address: object) -> object:
            if isinstance(address, tuple) and not _is_loopback(address[0]):
                refuse(address[0])
            return real(self, address)

        return connect

    real_getaddrinfo = socket.getaddrinfo

    def getaddrinfo(host: object, *args: object, **options: object) -> object:
        if not _is_loopback(host):
            refuse(host)
        return real_getaddrinfo(host, *args, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield attempts
    assert not attempts, f"this test reached for {attempts!r}; tests talk to loopback only"


def _is_loopback(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    return name is None or name in ("", "localhost", "::1", "0.0.0.0") or str(name).startswith("127.")


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give each test its own store, and hide the developer's keys and proxies from it and its child processes."""
    monkeypatch.setenv("DEERSTALKER_STORE", str(tmp_path / "results.duckdb"))
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.lower() in PROXIES:
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what is written to the system's buffers: no test cuts the power, and each wait costs milliseconds."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(autouse=True)
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let joint fits end early: what pages and commands do with a fit does not hang on how far its chains came."""
    import evaluators.fit

    whole = evaluators.fit.lsre

    def short(rows: object, *, rng: object, draws: int, max_sweeps: int) -> object:
        return whole(rows, rng=rng, draws=min(draws, 200), max_sweeps=min(max_sweeps, 300))

    monkeypatch.setattr(evaluators.fit, "lsre", short)


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """`real_data("layton_eval/ppi/ppi_llm.jsonl")`: its path, or a skip that says what is missing."""

    def find(name: str) -> Path:
        folder = ROOT / os.environ.get("DEERSTALKER_REAL_DATA", "../shared/data")
        if not (folder / name).exists():
            pytest.skip(f"no {name} in {folder}: set DEERSTALKER_REAL_DATA to a folder of the real releases")
        return (folder / name).resolve()

    return find


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser, for Playwright's `executable_path` (with `--no-sandbox` where the tests run as root)."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return Path(found)
    missing("chromium", "no chromium on PATH: install it with the system's package manager")


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Any]:
    """Chromium as Playwright drives it; of one module, since its event loop lasts as long as it does."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def weights() -> Path:
    """The tiny real model's file, with the engine that runs it installed."""
    from evaluators.local_model import LocalModelError, find_weights

    try:
        return find_weights()
    except LocalModelError as error:
        missing("local-model", str(error))


@pytest.fixture(scope="session")
def local_model(weights: Path) -> Iterator["LocalModel"]:
    """The tiny real model, started once for the whole run."""
    from evaluators.local_model import LocalModel

    with LocalModel(weights) as model:
        yield model


@pytest.fixture
def every_eval_ever_schema(tmp_path: Path) -> Path:
    """The JSON schema that Every Eval Ever ships, out of the package that `make .venv/schemas` fetched."""
    wheels = sorted((ROOT / ".venv" / "schemas").glob("every_eval_ever-*.whl"))
    if not wheels:
        missing("schemas", "no package of Every Eval Ever in .venv/schemas: run make .venv/schemas")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        path = tmp_path / "eval.schema.json"
        path.write_bytes(wheel.read("every_eval_ever/schemas/eval.schema.json"))
    return path


def missing(part: str, reason: str) -> NoReturn:
    """Skip the test, or fail it where DEERSTALKER_REQUIRE names the part."""
    if part in os.environ.get("DEERSTALKER_REQUIRE", "").split(","):
        pytest.fail(f"DEERSTALKER_REQUIRE names {part!r}, but: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("name.json", text)`: compare with tests/golden/name.json, or write it under --rewrite-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--rewrite-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        assert path.is_file(), f"tests/golden/{name} is missing: run pytest with --rewrite-golden, read it, commit it"
        kept = path.read_bytes().decode()
        assert text == kept, f"differs from tests/golden/{name}; if meant, run pytest with --rewrite-golden"

    return compare
