"""A Hugging Face Hub on loopback that huggingface_hub and datasets really talk to; repositories live in memory.

It has both upload modes (in the commit, or as LFS objects first), refuses what the Hub refuses, and can fail at any
request: before it does anything (`drop`), after it did everything (`lost`), or with a status.
"""

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow.parquet as pq
import yaml

TOKEN = "hf_loopback"
DATE = "2026-01-02T03:04:05.000Z"
LICENCES = {"cc-by-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "mit", "apache-2.0", "other"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M"}
ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.age filter=lfs diff=lfs merge=lfs -text\n"
LFS_SUFFIXES = (".parquet", ".age")


@dataclass
class Repo:
    """Commits by id, each with all its files, and refs that name some of them."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    private: bool = False
    gated: Any = False
    pulls: int = 0

    def commit(self, ref: str, files: Mapping[str, bytes], oid: str | None = None) -> str:
        seed = repr((ref, len(self.commits), sorted((p, git_oid(b)) for p, b in files.items())))
        oid = oid or sha1(seed.encode()).hexdigest()
        self.commits[oid] = dict(files)
        self.refs[ref] = oid
        return oid

    def resolve(self, revision: str) -> str | None:
        names = (revision, f"refs/heads/{revision}", f"refs/tags/{revision}")
        found = next((self.refs[n] for n in names if n in self.refs), revision)
        return found if found in self.commits else None


class Hub(ThreadingHTTPServer):
    """Serves `repos`; with `broken`, every call fails with status 400; `faults` maps request numbers to what fails.

    `token` is the only one that may write; a call with any other token is refused.
    """

    daemon_threads = True

    def __init__(self, *, lfs: bool = False, broken: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lfs, self.broken = lfs, broken
        self.token = TOKEN
        self.repos: dict[tuple[str, str], Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.downloads: list[str] = []
        self.faults: dict[int, str | int] = {}
        self.lock = RLock()

    @property
    def url(self) -> str:
        """What HF_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def hold(self, repo: str, commit: str, files: Mapping[str, bytes]) -> "Hub":
        """Put a dataset repository there whose branch main is at `commit`."""
        self.repos["dataset", repo] = made = Repo()
        made.commit("refs/heads/main", files, commit)
        return self

    def everything(self) -> bytes:
        """Every byte that anyone could read from here, Parquet unfolded."""
        held = [b for repo in self.repos.values() for files in repo.commits.values() for b in files.values()]
        held += [unfolded(b) for b in [*held, *self.objects.values()] if b.startswith(b"PAR1")]
        names = [p.encode() for repo in self.repos.values() for files in repo.commits.values() for p in files]
        return b"\0".join([*held, *names, *self.objects.values(), *(r.encode() for r in self.requests)])


@contextmanager
def serve(server: Hub) -> Iterator[Hub]:
    """Run a server while the block runs."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _RefusedError(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        self.status, self.message, self.code = status, message, code


_NO_REPO = _RefusedError(404, "Repository not found", "RepoNotFound")


class _Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body = self._body()
        hub = self.server
        with hub.lock:
            fault = hub.faults.get(len(hub.requests))
            hub.requests.append(f"{self.command} {unquote(self.path)}")
            if fault == "drop":
                self._hang_up()
                return
            try:
                if isinstance(fault, int):
                    raise _RefusedError(fault, f"status {fault} on demand")
                answer = self._route(body)
            except _RefusedError as refused:
                answer = self._refusal(refused)
        if fault == "lost":
            self._hang_up()
        else:
            self._send(*answer)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET  # noqa: N815  names that http.server looks for

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _refusal(self, refused: _RefusedError) -> tuple[int, bytes, dict[str, str]]:
        headers = {"X-Error-Message": refused.message}
        if refused.code:
            headers["X-Error-Code"] = refused.code
        return refused.status, json.dumps({"error": refused.message}).encode(), headers

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _route(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        hub, url = self.server, urlsplit(self.path)
        if hub.broken:
            raise _RefusedError(400, "broken")
        said = self.headers.get("Authorization")
        if said not in (None, f"Bearer {hub.token}"):
            raise _RefusedError(401, "Invalid credentials in Authorization header")
        path = url.path
        if path == "/api/validate-yaml":
            found = validate(json.loads(body)["content"])
            return 400 if found["errors"] else 200, json.dumps(found).encode(), {}
        if path.startswith("/objects/"):
            hub.objects[path.rpartition("/")[2]] = body
            return self._json({})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if match := re.fullmatch(r"/(?:datasets/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            self._may_write()
            return self._json(self._batch(json.loads(body)))
        if match := re.fullmatch(r"/(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._file(
                self._repo("dataset" if match[1] else "model", match[2]), *map(unquote, match.groups()[2:])
            )
        if match := re.fullmatch(r"/api/(model|dataset)s/([^/]+/[^/]+)(?:/(\w+))?(?:/([^/]+))?(?:/(.*))?", path):
            kind, name, what, argument, _ = match.groups()
            repo = self._repo(kind, name)
            call = getattr(self, f"_api_{what or 'revision'}", None)
            if call:
                return call(repo, name, unquote(argument or "main"), body, parse_qs(url.query))
        raise _RefusedError(404, f"this server has no {self.command} {path}")

    def _json(self, value: Any) -> tuple[int, bytes, dict[str, str]]:
        return 200, json.dumps(value).encode(), {}

    def _may_write(self) -> None:
        if not self.headers.get("Authorization"):
            raise _RefusedError(401, "Invalid username or password.")

    def _repo(self, kind: str, name: str) -> Repo:
        repo = self.server.repos.get((kind, name))
        if repo is None or (repo.private and not self.headers.get("Authorization")):
            raise _NO_REPO
        return repo

    def _at(self, repo: Repo, revision: str) -> str:
        if (oid := repo.resolve(revision)) is None:
            raise _RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return oid

    def _create(self, asked: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        self._may_write()
        name, kind = f"{asked.get('organization') or 'tester'}/{asked['name']}", asked.get("type") or "model"
        if (kind, name) in self.server.repos:
            return 409, json.dumps({"error": "You already created this repo"}).encode(), {}
        repo = self.server.repos[kind, name] = Repo(
            private="private" in (asked.get("visibility"), asked.get("private"))
        )
        repo.private |= asked.get("private") is True
        repo.commit("refs/heads/main", {".gitattributes": ATTRIBUTES})
        return self._json({"url": f"{self.server.url}/{kind}s/{name}", "name": name, "id": name})

    def _batch(self, asked: dict[str, Any]) -> dict[str, Any]:
        def place(o: dict[str, Any]) -> dict[str, Any]:
            if o["oid"] in self.server.objects:
                return o
            return o | {"actions": {"upload": {"href": f"{self.server.url}/objects/{o['oid']}", "header": {}}}}

        return {"transfer": "basic", "objects": [place({k: o[k] for k in ("oid", "size")}) for o in asked["objects"]]}

    def _file(self, repo: Repo, revision: str, name: str) -> tuple[int, bytes, dict[str, str]]:
        oid = self._at(repo, revision)
        if name not in repo.commits[oid]:
            raise _RefusedError(404, "Entry not found", "EntryNotFound")
        data = repo.commits[oid][name]
        headers = {"ETag": f'"{self._entry(name, data)["etag"]}"', "X-Repo-Commit": oid, "Accept-Ranges": "bytes"}
        if self.command == "GET":
            self.server.downloads.append(name)
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last = int(match[1]), min(int(match[2] or len(data)), len(data) - 1)
            return 206, data[first : last + 1], headers | {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        return 200, data, headers

    def _is_lfs(self, name: str) -> bool:
        return self.server.lfs and name.endswith(LFS_SUFFIXES)

    def _entry(self, name: str, data: bytes) -> dict[str, Any]:
        entry = {"type": "file", "path": name, "size": len(data), "oid": git_oid(data), "etag": git_oid(data)}
        if self._is_lfs(name):
            digest = sha256(data).hexdigest()
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n".encode()
            entry |= {"oid": git_oid(pointer), "etag": digest}
            entry["lfs"] = {"oid": digest, "size": len(data), "pointerSize": len(pointer)}
        return entry

    def _api_revision(self, repo: Repo, name: str, revision: str, *_: Any) -> tuple[int, bytes, dict[str, str]]:
        oid = self._at(repo, revision)
        siblings = [{"rfilename": path} for path in sorted(repo.commits[oid])]
        facts = {"id": name, "sha": oid, "private": repo.private, "gated": repo.gated, "lastModified": DATE}
        return self._json(facts | {"siblings": siblings, "tags": [], "downloads": 0, "likes": 0})

    def _api_tree(self, repo: Repo, name: str, revision: str, *_: Any) -> tuple[int, bytes, dict[str, str]]:
        files = repo.commits[self._at(repo, revision)]
        inside = unquote(urlsplit(self.path).path.partition(f"/tree/{revision}")[2]).strip("/")
        found = [self._entry(p, b) for p, b in sorted(files.items()) if not inside or p.startswith(f"{inside}/")]
        if "recursive" not in self.path or "recursive=false" in self.path.lower():
            top = {p[len(inside) :].strip("/").partition("/")[0] for p in files if p.startswith(inside)}
            found = [e for e in found if "/" not in e["path"][len(inside) :].strip("/")]
            folders = sorted(top - {e["path"].rpartition("/")[2] for e in found})
            found += [
                {"type": "directory", "path": f"{inside}/{d}".strip("/"), "oid": git_oid(d.encode()), "size": 0}
                for d in folders
            ]
        if inside and not found:
            raise _RefusedError(404, f"{inside} does not exist", "EntryNotFound")
        return self._json(found)

    def _api_refs(self, repo: Repo, name: str, *_: Any) -> tuple[int, bytes, dict[str, str]]:
        def below(start: str) -> list[dict[str, str]]:
            found = {ref: oid for ref, oid in repo.refs.items() if ref.startswith(start)}
            return [{"name": ref[len(start) :], "ref": ref, "targetCommit": oid} for ref, oid in found.items()]

        pulls = below("refs/pr/")
        return self._json(
            {"branches": below("refs/heads/"), "tags": below("refs/tags/"), "pullRequests": pulls, "converts": []}
        )

    def _api_settings(self, repo: Repo, name: str, _: str, body: bytes, *__: Any) -> tuple[int, bytes, dict[str, str]]:
        self._may_write()
        asked = json.loads(body)
        repo.gated = asked.get("gated", repo.gated)
        repo.private = asked.get("private", repo.private)
        return self._json(asked)

    def _api_preupload(
        self, repo: Repo, name: str, revision: str, body: bytes, *_: Any
    ) -> tuple[int, bytes, dict[str, str]]:
        self._may_write()
        held = repo.commits[self._at(repo, revision)]

        def mode(path: str) -> dict[str, Any]:
            found = {"path": path, "uploadMode": "lfs" if self._is_lfs(path) else "regular", "shouldIgnore": False}
            return found | ({"oid": self._entry(path, held[path])["etag"]} if path in held else {})

        return self._json({"files": [mode(f["path"]) for f in json.loads(body)["files"]]})

    def _api_commit(
        self, repo: Repo, name: str, revision: str, body: bytes, query: dict[str, Any]
    ) -> tuple[int, bytes, dict[str, str]]:
        self._may_write()
        parent = self._at(repo, revision)
        files = dict(repo.commits[parent])
        for line in filter(None, body.splitlines()):
            key, value = json.loads(line)["key"], json.loads(line)["value"]
            if key == "header" and value.get("parentCommit") not in (None, parent):
                raise _RefusedError(412, "A commit has happened since. Please refresh and try again.")
            if key == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                files[value["path"]] = self.server.objects[value["oid"]]
            elif key == "deletedFile":
                del files[value["path"]]
        page = f"{self.server.url}/datasets/{name}"
        if query.get("create_pr"):
            repo.pulls += 1
            oid = repo.commit(f"refs/pr/{repo.pulls}", files)
            more = {"pullRequestUrl": f"{page}/discussions/{repo.pulls}"}
        else:
            oid, more = repo.commit(f"refs/heads/{revision}", files), {}
        return self._json({"success": True, "commitOid": oid, "commitUrl": f"{page}/commit/{oid}", **more})

    def _api_tag(self, repo: Repo, name: str, revision: str, body: bytes, *_: Any) -> tuple[int, bytes, dict[str, str]]:
        self._may_write()
        ref = f"refs/tags/{json.loads(body)['tag']}"
        if ref in repo.refs:
            raise _RefusedError(409, "Tag reference exists already")
        repo.refs[ref] = self._at(repo, revision)
        return self._json({})


def unfolded(parquet: bytes) -> bytes:
    """What a Parquet file holds; its own bytes are compressed."""
    return repr(pq.read_table(io.BytesIO(parquet)).to_pylist()).encode()


def git_oid(data: bytes) -> str:
    return sha1(b"blob %d\0" % len(data) + data).hexdigest()


def validate(card: str) -> dict[str, Any]:
    """What the Hub says of a card's header: `errors` and `warnings`, each a list of messages."""
    match = re.match(r"---\n(.*?)\n---\n", card, re.DOTALL)
    head = yaml.safe_load(match[1]) if match else None
    if not isinstance(head, dict):
        return {"errors": [{"message": "no YAML header"}], "warnings": []}
    wrong = []
    if str(head.get("license")) not in LICENCES:
        wrong.append(f'"license" is {head.get("license")!r}')
    if not set(head.get("size_categories", [])) <= SIZES:
        wrong.append('"size_categories" is unknown')
    for config in head.get("configs", []):
        for data in config.get("data_files", []):
            if set(data) != {"split", "path"} or not re.fullmatch(r"\w+(\.\w+)*", data["split"]):
                wrong.append(f'"data_files" of {config.get("config_name")!r}')
    for info in head.get("dataset_info", []):
        if not all(isinstance(f.get("name"), str) for f in info.get("features", [])):
            wrong.append('"features" have no names')
    return {"errors": [{"message": w} for w in wrong], "warnings": []}
