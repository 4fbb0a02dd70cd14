"""A small OpenAI-compatible server on loopback that fails on demand; real sockets, no mock.

with ModelServer(lambda body, attempt: Answer(status=429) if attempt == 1 else Answer()) as server:
    ...  # call server.url; look at server.requests
"""

import asyncio
import hashlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

Body = dict[str, Any]
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(frozen=True)
class Answer:
    """What to send back to one request.

    Attributes:
        content: Text of the reply; None: JSON of the request's schema, or a short text where it names none.
        status: HTTP status; other than 200 the body is an error object.
        headers: Extra response headers, for example `{"Retry-After": "0"}`.
        raw: Bytes sent as the body in place of a completion.
        finish_reason: `stop`, `length`, `content_filter`, ...
        usage: Usage object; None: counts made up from the lengths; empty: no usage in the reply.
        model: Model name reported; None: the one asked for.
        fault: `drop` cuts the connection unanswered (FIN), `reset` breaks it (RST), `hang` stays silent until client
            or server close.
        hold: Sent once the test calls `release()`.
        seconds: Sent no sooner than this after the request; for measurements, tests do not wait.
    """

    content: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    finish_reason: str = "stop"
    usage: Mapping[str, Any] | None = None
    model: str | None = None
    fault: Literal["drop", "reset", "hang"] | None = None
    hold: bool = False
    seconds: float = 0.0


class ModelServer:
    """The server, in a thread of its own, on a port the kernel chose.

    Args:
        reply: Called with the parsed request body and its attempt (1 the first time this exact body arrives) for
            every chat completion, one call at a time. What it raises is raised again when the block ends.
        keep: Keep bodies and headers; False where a measurement sends too many.

    Attributes:
        url: Base of the API, `http://127.0.0.1:PORT/v1`.
        in_flight_peak: Most chat completions that were waiting for their reply at one time.
        answered: Chat completions that were answered so far, faults included.
    """

    def __init__(
        self, reply: Callable[[Body, int], Answer] = lambda _body, _attempt: Answer(), *, keep: bool = True
    ) -> None:
        self.url = ""
        self.in_flight_peak = 0
        self.answered = 0
        self._keep = keep
        self._reply = reply
        self._lock = threading.Condition()
        self._requests: list[Body] = []
        self._headers: list[dict[str, str]] = []
        self._attempts: Counter[str] = Counter()
        self._in_flight = 0
        self._errors: list[Exception] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), name="model-server")

    @property
    def requests(self) -> list[Body]:
        """Bodies of the chat completions so far, in the order of their arrival."""
        with self._lock:
            return list(self._requests)

    @property
    def headers(self) -> list[dict[str, str]]:
        """Headers of the same requests, names in lower case."""
        with self._lock:
            return list(self._headers)

    def wait_for_requests(self, count: int, *, seconds: float = 180.0) -> None:
        """Wait until so many chat completions have arrived; AssertionError if they do not in minutes."""
        with self._lock:
            if not self._lock.wait_for(lambda: len(self._requests) >= count, seconds):
                raise AssertionError(f"{len(self._requests)} of {count} requests arrived within {seconds:g} s")

    def release(self) -> None:
        """Send the replies that are held, and hold none from now on."""
        self._loop.call_soon_threadsafe(self._released.set)

    def other_page(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[int, bytes]:
        """Status and body for anything but the chat completions; a server of more overrides it.

        At status 0 the connection is cut unanswered.
        """
        return 404, error_body(f"no such page: {method} {path}")

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the model server did not start within a minute")
        return self

    def __exit__(self, kind: type[BaseException] | None, _error: object, _traceback: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._errors and kind is None:
            raise self._errors[0]

    async def _main(self) -> None:
        self._loop, self._stop, self._released = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._stop.wait()
        self._released.set()
        server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.gather(*self._tasks)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if task := asyncio.current_task():
            self._tasks.add(task)
        self._writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()
            self._writers.discard(writer)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Read one request and answer it; whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        payload = await reader.readexactly(int(headers.get("content-length", "0")))
        if (method, path) == ("GET", "/v1/models"):
            listing = {"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]}
            return await _send(writer, 200, json.dumps(listing).encode())
        if (method, path) != ("POST", "/v1/chat/completions"):
            try:
                status, other = self.other_page(method, path, headers, payload)
            except Exception as error:
                self._errors.append(error)
                status, other = 400, error_body(f"the test's server failed: {error!r}")
            return status != 0 and await _send(writer, status, other)
        try:
            body = json.loads(payload)
        except ValueError:
            return await _send(writer, 400, error_body("the request body is not JSON"))
        with self._lock:
            if self._keep:
                self._requests.append(body)
                self._headers.append(headers)
            self._in_flight += 1
            self.in_flight_peak = max(self.in_flight_peak, self._in_flight)
            self._lock.notify_all()
        try:
            return await self._answer(body, reader, writer)
        finally:
            self._in_flight -= 1
            self.answered += 1

    async def _answer(self, body: Body, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        try:
            answer = self._reply(body, self._attempts[digest])
        except Exception as error:
            self._errors.append(error)
            answer = Answer(status=400, raw=error_body(f"the test's reply function failed: {error!r}"))
        if answer.seconds:
            await asyncio.sleep(answer.seconds)
        if answer.hold:
            await self._released.wait()
        if answer.fault == "hang":
            await reader.read()
        if answer.fault == "reset":
            reset_at_close(writer)
        if answer.fault is not None:
            return False
        payload = answer.raw
        if payload is None and answer.status != 200:
            payload = error_body(f"scripted status {answer.status}")
        elif payload is None:
            payload = json.dumps(completion(body, answer, digest)).encode()
        return await _send(writer, answer.status, payload, answer.headers)


def reset_at_close(writer: asyncio.StreamWriter) -> None:
    """Let a connection end in a reset (RST): with no time to linger the kernel ends it so."""
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def _send(
    writer: asyncio.StreamWriter, status: int, payload: bytes, headers: Mapping[str, str] | None = None
) -> bool:
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Scripted')}", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(payload)}", *(f"{name}: {value}" for name, value in (headers or {}).items())]
    writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + payload)
    await writer.drain()
    return True


def error_body(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "scripted", "code": None}}).encode()


def completion(body: Body, answer: Answer, digest: str) -> Body:
    content = default_content(body, digest) if answer.content is None else answer.content
    prompt_tokens, completion_tokens = len(json.dumps(body.get("messages", []))) // 4, max(1, len(content) // 4)
    counted = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    counted["total_tokens"] = prompt_tokens + completion_tokens
    completion: Body = {
        "id": f"chatcmpl-{digest[:16]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": answer.model or body.get("model", "scripted"),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": answer.finish_reason}
        ],
    }
    if answer.usage is None or answer.usage:
        completion["usage"] = dict(counted if answer.usage is None else answer.usage)
    return completion


def default_content(body: Body, digest: str) -> str:
    """The reply a request gets by default: the same for the same body, spread over the schema's values."""
    wanted = body.get("response_format") or {}
    if wanted.get("type") != "json_schema":
        return f"answer {digest[:8]}"
    schema = wanted["json_schema"]["schema"]
    return json.dumps(_instance(schema, schema, digest))


def _instance(schema: Body, root: Body, seed: str) -> Any:
    """A value of a JSON schema (the part that structured replies use), chosen by the seed."""
    number = int((seed := hashlib.sha256(seed.encode()).hexdigest())[:8], 16)
    if "$ref" in schema:
        return _instance(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, seed)
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if choices:
        return choices[number % len(choices)]
    if "anyOf" in schema:
        return _instance(schema["anyOf"][number % len(schema["anyOf"])], root, seed)
    match schema.get("type"):
        case "object":
            return {key: _instance(part, root, seed + key) for key, part in schema.get("properties", {}).items()}
        case "array":
            length = max(schema.get("minItems", 0), min(schema.get("maxItems", 3), number % 3 + 1))
            return [_instance(schema["items"], root, f"{seed}{index}") for index in range(length)]
        case "boolean":
            return number % 2 == 1
        case "integer" | "number":
            low = schema.get("minimum", 0)
            return low + number % (int(schema.get("maximum", low + 9) - low) + 1)
        case "null":
            return None
        case "string":
            return f"answer {seed[:8]}"[: schema.get("maxLength")]
    raise ValueError(f"the test server cannot make a value of the schema {schema!r}")
