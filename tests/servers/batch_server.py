"""The model server with OpenAI's files and batches beside the chat completions; batches end as the test says.

with BatchServer(reply, fates=[Fate(), Fate(end="expired", done=5)]) as server:
    ...  # server.submitted holds the lines of each batch, server.requests what was asked live
"""

import email
import email.policy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.servers.model_server import Answer, Body, ModelServer, completion, error_body

DATE = 1_700_000_000


@dataclass(frozen=True)
class Fate:
    """What becomes of a batch.

    Attributes:
        polls: Looks at it before it has ended.
        end: Its last status.
        done: Calls that were made until then; None: all.
        lost: Its creation is carried out and answered with an error.
        cut: With `lost`: the connection breaks in place of an answer.
    """

    polls: int = 1
    end: Literal["completed", "expired", "cancelled", "failed"] = "completed"
    done: int | None = None
    lost: bool = False
    cut: bool = False


class BatchServer(ModelServer):
    """The server.

    Args:
        reply: As of ModelServer, for each call of a batch too: a status other than 200 goes to the error file, `drop`
            leaves the call out of both files.
        fates: Of the batches in the order of their creation; those after the last end well.
        slow_files: A file is still being read when its upload is answered, as with Azure.

    Attributes:
        submitted: Request lines of each batch.
        looks: Times a batch was looked at.
    """

    def __init__(
        self,
        reply: Callable[[Body, int], Answer] = lambda _body, _attempt: Answer(),
        *,
        fates: Sequence[Fate] = (),
        slow_files: bool = False,
    ) -> None:
        super().__init__(reply)
        self.submitted: list[list[Body]] = []
        self.looks = 0
        self._fates = list(fates)
        self._slow_files = slow_files
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, tuple[Body, Fate]] = {}
        self._asked: dict[str, int] = {}

    def other_page(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[int, bytes]:
        # Azure has the same pages in another folder.
        parts = urlsplit(path).path.removeprefix("/v1/").removeprefix("/openai/").split("/")
        match method, parts:
            case "POST", ["files"]:
                return 200, json.dumps(self._upload(headers, payload)).encode()
            case "GET", ["files", name] if name in self._files:
                return 200, json.dumps(_about(name, self._files[name], "processed")).encode()
            case "GET", ["files", name, "content"] if name in self._files:
                return 200, self._files[name]
            case "POST", ["batches"]:
                return self._create(json.loads(payload))
            case "GET", ["batches"]:
                listing = [batch for batch, _ in self._batches.values()]
                return 200, json.dumps({"object": "list", "data": listing, "has_more": False}).encode()
            case "GET", ["batches", name] if name in self._batches:
                return 200, json.dumps(self._look(name)).encode()
        return super().other_page(method, path, headers, payload)

    def _upload(self, headers: Mapping[str, str], payload: bytes) -> Body:
        head = f"Content-Type: {headers['content-type']}\r\n\r\n".encode()
        form = email.message_from_bytes(head + payload, policy=email.policy.HTTP)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}  # type: ignore[attr-defined]
        assert parts["purpose"].get_content().strip() == "batch"
        data = parts["file"].get_payload(decode=True)
        return _about(self._store(data), data, "pending" if self._slow_files else "processed")

    def _store(self, data: bytes) -> str:
        name = f"file-{len(self._files)}"
        self._files[name] = data
        return name

    def _create(self, asked: Body) -> tuple[int, bytes]:
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines()]
        assert all(line["url"] == asked["endpoint"] for line in lines)
        fate = self._fates.pop(0) if self._fates else Fate()
        batch = {
            "id": f"batch_{len(self._batches)}",
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": asked["completion_window"],
            "status": "validating",
            "created_at": DATE,
            "metadata": asked.get("metadata"),
        }
        self._batches[str(batch["id"])] = (batch, fate)
        self.submitted.append(lines)
        if fate.lost:
            return 0 if fate.cut else 500, error_body("the answer was lost")
        return 200, json.dumps(batch).encode()

    def _look(self, name: str) -> Body:
        self.looks += 1
        batch, fate = self._batches[name]
        seen = self._asked[name] = self._asked.get(name, 0) + 1
        if seen <= fate.polls:
            batch["status"] = "in_progress"
        elif batch["status"] not in {"completed", "expired", "cancelled", "failed"}:
            batch |= {"status": fate.end, **self._end(self.submitted[list(self._batches).index(name)], fate)}
        return batch

    def _end(self, lines: list[Body], fate: Fate) -> Body:
        if fate.end == "failed":
            error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}
            return {"errors": {"object": "list", "data": [error]}}
        made = lines if fate.done is None else lines[: fate.done]
        good: list[Body] = []
        bad = [_failed(line, code="batch_expired") for line in lines[len(made) :] if fate.end == "expired"]
        for line in made:
            answer, body = self._answer_line(line["body"])
            if answer.fault is None:
                response = {"status_code": answer.status, "request_id": "r", "body": body}
                kept = {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}
                (good if answer.status == 200 else bad).append(kept)
        files = {"output_file_id": good, "error_file_id": bad}
        # As the provider does it: replies in no particular order, and no file where it would be empty.
        return {name: self._store(_jsonl(reversed(rows))) for name, rows in files.items() if rows}

    def _answer_line(self, body: Body) -> tuple[Answer, Any]:
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        answer = self._reply(body, self._attempts[digest])
        if answer.raw is not None:
            return answer, json.loads(answer.raw)
        if answer.status != 200:
            return answer, json.loads(error_body(f"scripted status {answer.status}"))
        return answer, completion(body, answer, digest)


def _about(name: str, data: bytes, status: str) -> Body:
    return {
        "id": name,
        "object": "file",
        "bytes": len(data),
        "created_at": DATE,
        "filename": "x",
        "purpose": "batch",
        "status": status,
    }


def _failed(line: Body, *, code: str) -> Body:
    error = {"code": code, "message": "This request could not be executed before the completion window expired."}
    return {"id": "x", "custom_id": line["custom_id"], "response": None, "error": error}


def _jsonl(rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
