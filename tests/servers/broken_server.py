"""A server on loopback that reads a request to its end and gives no reply that is one; it runs in the test's loop.

async with BrokenServer("reset") as server:
    ...  # call server.url; look at server.posts
"""

import asyncio
from types import TracebackType
from typing import Literal, Self

from tests.servers.model_server import reset_at_close

Way = Literal["reset", "close", "half a head", "half a body", "half a body, reset", "no HTTP", "429", "500", "503"]
WAYS: dict[Way, bytes] = {
    "reset": b"",
    "close": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "half a body": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"id": "x", "choi',
    "half a body, reset": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"id": ',
    "no HTTP": b"no such thing\r\n\r\n",
    "429": b"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "500": b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    "503": b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
}


class BrokenServer:
    """Whatever is asked at whatever path.

    Args:
        way: What is sent before the connection ends, and whether it ends in a reset (RST) or is closed (FIN).

    Attributes:
        url: `http://127.0.0.1:PORT`.
        posts: Paths of the requests that were read whole, in the order of their arrival.
    """

    def __init__(self, way: Way) -> None:
        self.url = ""
        self.posts: list[str] = []
        self._way: Way = way

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        sizes = [int(line.partition(":")[2]) for line in head if line.lower().startswith("content-length:")]
        await reader.readexactly(sum(sizes))
        self.posts.append(head[0].split(" ")[1])
        writer.write(WAYS[self._way])
        await writer.drain()
        if "reset" in self._way:
            reset_at_close(writer)
            writer.transport.abort()
        else:
            writer.close()
