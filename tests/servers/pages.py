"""A folder of pages over HTTP, as a static host has it; on loopback, for tests and measurements in a browser."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


@contextmanager
def serve_pages(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Serve a folder as a static host does, packed with gzip; yields the address and the bytes of each answer."""
    sent: list[int] = []
    packed = cache(lambda path: gzip.compress(Path(path).read_bytes(), 6))

    class Packed(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.translate_path(self.path)
            if not Path(path).is_file():
                self.send_error(404)
                return
            body = packed(path)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(path))
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            sent.append(len(body))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Packed, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
