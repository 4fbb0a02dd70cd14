"""A dataset repository on loopback that huggingface_hub really talks to: one commit, one branch, files in memory."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit


class HubFiles(ThreadingHTTPServer):
    """Serves `files` of the dataset `repo` at `commit`; with `broken`, every call fails with status 400."""

    daemon_threads = True

    def __init__(self, repo: str, commit: str, files: Mapping[str, bytes], *, broken: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repo, self.commit, self.files, self.broken = repo, commit, dict(files), broken
        self.downloads: list[str] = []

    @property
    def url(self) -> str:
        """What HF_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def serve(server: HubFiles) -> Iterator[HubFiles]:
    """Run a server while the block runs."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: HubFiles
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        hub = self.server
        path = unquote(urlsplit(self.path).path)
        api, files = f"/api/datasets/{hub.repo}/", f"/datasets/{hub.repo}/resolve/"
        if hub.broken:
            self._send(400, b"{}", {})
        elif not path.startswith((api, files)):
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"})
        elif path.startswith(files):
            revision, _, name = path.removeprefix(files).partition("/")
            self._file(revision, name)
        else:
            kind, _, revision = path.removeprefix(api).partition("/")
            if revision not in {hub.commit, "main"}:
                self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"})
            elif kind == "tree":
                tree = [{"type": "file", "oid": _oid(b), "size": len(b), "path": p} for p, b in hub.files.items()]
                self._send(200, json.dumps(tree).encode(), {})
            else:
                self._send(200, json.dumps({"id": hub.repo, "sha": hub.commit, "siblings": []}).encode(), {})

    def do_HEAD(self) -> None:
        self.do_GET()

    def _file(self, revision: str, name: str) -> None:
        hub = self.server
        if revision != hub.commit or name not in hub.files:
            self._send(404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"})
            return
        data = hub.files[name]
        if self.command == "GET":
            hub.downloads.append(name)
        self._send(200, data, {"ETag": f'"{_oid(data)}"', "X-Repo-Commit": hub.commit})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def _oid(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()
