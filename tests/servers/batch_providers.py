"""Servers that speak the batch protocols of Anthropic, Mistral and xAI, each beside the same maker's live calls.

Written after the makers' references, not after litellm: what litellm makes of a protocol is what these are to find out.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers.batch_server import DATE, BatchServer, Fate
from tests.servers.model_server import Answer, Body, ModelServer, completion

CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 500: "api_error"}


class AnthropicServer(ModelServer):
    """Message Batches: calls in the body of the submission, no file, no name beside a batch.

    Args:
        reply: As of ModelServer; `drop` of a call in a batch lets it be cancelled.
        fates: Of the batches in the order of their creation; those after the last end well.

    Attributes:
        submitted: Calls of each batch.
        asked: Bodies of live calls.
        betas: Features asked for: of each batch, and (under -1) of live calls.
    """

    def __init__(
        self,
        reply: Callable[[Body, int], Answer] = lambda _body, _attempt: Answer(),
        *,
        fates: Sequence[Fate] = (),
    ) -> None:
        super().__init__(reply)
        self.submitted: list[list[Body]] = []
        self.asked: list[Body] = []
        self.betas: dict[int, set[str]] = {}
        self._fates = list(fates)
        self._batches: list[tuple[Body, Fate]] = []
        self._results: dict[str, bytes] = {}
        self._looks: dict[str, int] = {}

    def other_page(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[int, bytes]:
        assert headers["x-api-key"] == "of anthropic"
        assert headers["anthropic-version"] == "2023-06-01"
        beta = {part for part in headers.get("anthropic-beta", "").split(",") if part}
        match method, urlsplit(path).path.removeprefix("/v1/").split("/"):
            case "POST", ["messages"]:
                self.asked.append(json.loads(payload))
                self.betas.setdefault(-1, set()).update(beta)
                answer, message = self._message(self.asked[-1])
                return answer.status, json.dumps(message).encode()
            case "POST", ["messages", "batches"]:
                self.betas[len(self.submitted)] = beta
                return self._create(json.loads(payload)["requests"])
            case "GET", ["messages", "batches"]:
                newest = [batch for batch, _ in reversed(self._batches)]
                return 200, json.dumps({"data": newest, "has_more": False}).encode()
            case "GET", ["messages", "batches", name]:
                return 200, json.dumps(self._look(name)).encode()
            case "GET", ["messages", "batches", name, "results"] if name in self._results:
                return 200, self._results[name]
        return 404, json.dumps({"type": "error", "error": {"type": "not_found_error", "message": path}}).encode()

    def _create(self, calls: list[Body]) -> tuple[int, bytes]:
        assert all(CUSTOM_ID.fullmatch(call["custom_id"]) for call in calls)
        assert len({call["custom_id"] for call in calls}) == len(calls)
        fate = self._fates.pop(0) if self._fates else Fate()
        counts = {"processing": len(calls), "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        batch = {
            "id": f"msgbatch_{len(self._batches)}",
            "type": "message_batch",
            "processing_status": "in_progress",
            "request_counts": counts,
            "created_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "ended_at": None,
            "results_url": None,
        }
        self._batches.append((batch, fate))
        self.submitted.append(calls)
        if fate.lost:
            return 0 if fate.cut else 500, b'{"type": "error", "error": {"type": "api_error", "message": "lost"}}'
        return 200, json.dumps(batch).encode()

    def _look(self, name: str) -> Body:
        number = int(name.removeprefix("msgbatch_"))
        batch, fate = self._batches[number]
        self._looks[name] = self._looks.get(name, 0) + 1
        if self._looks[name] > fate.polls and batch["processing_status"] != "ended":
            lines = self._end(self.submitted[number], fate)
            kinds = [line["result"]["type"] for line in lines]
            batch["request_counts"] = {kind: kinds.count(kind) for kind in batch["request_counts"]}
            batch |= {"processing_status": "ended", "results_url": f"{self.url}/messages/batches/{name}/results"}
            # As the provider does it: in no particular order.
            self._results[name] = "".join(json.dumps(line) + "\n" for line in reversed(lines)).encode()
        return batch

    def _end(self, calls: list[Body], fate: Fate) -> list[Body]:
        made = len(calls) if fate.done is None else fate.done
        lines = []
        for number, call in enumerate(calls):
            end = {"type": "canceled" if fate.end == "cancelled" else "expired"}
            if number < made:
                answer, message = self._message(call["params"])
                end = {"type": "canceled"}
                if answer.fault is None:
                    good = answer.status == 200
                    end = {"type": "succeeded", "message": message} if good else {"type": "errored", "error": message}
            lines.append({"custom_id": call["custom_id"], "result": end})
        return lines

    def _message(self, params: Body) -> tuple[Answer, Body]:
        """The reply to a call, which the test's function sees in OpenAI's form."""
        assert params["max_tokens"] > 0
        system = "".join(part["text"] for part in params.get("system", ()))
        messages = [{"role": "system", "content": system}, *params["messages"]]
        body: Body = {"model": params["model"], "messages": messages}
        schema = (params.get("output_format") or params.get("output_config", {}).get("format") or {}).get("schema")
        tools = params.get("tools") or []
        if schema or tools:
            wanted = schema or tools[0]["input_schema"]
            body["response_format"] = {"type": "json_schema", "json_schema": {"schema": wanted}}
        digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()
        self._attempts[digest] += 1
        answer = self._reply(body, self._attempts[digest])
        if answer.status != 200:
            kind = ERRORS.get(answer.status, "api_error")
            return answer, {"type": "error", "error": {"type": kind, "message": f"scripted status {answer.status}"}}
        said = completion(body, answer, digest)
        text, usage = said["choices"][0]["message"]["content"], said["usage"]
        part = {"type": "text", "text": text}
        if tools:
            part = {"type": "tool_use", "id": "toolu_1", "name": tools[0]["name"], "input": json.loads(text)}
        return answer, {
            "id": f"msg_{digest[:16]}",
            "type": "message",
            "role": "assistant",
            "model": params["model"],
            "content": [part] if answer.raw is None else json.loads(answer.raw),
            "stop_reason": "refusal" if answer.finish_reason == "content_filter" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
        }


class MistralServer(BatchServer):
    """Files as OpenAI has them, jobs that name one model for all calls."""

    STATUS: Mapping[str, str] = {
        "validating": "QUEUED",
        "in_progress": "RUNNING",
        "completed": "SUCCESS",
        "failed": "FAILED",
        "expired": "TIMEOUT_EXCEEDED",
        "cancelled": "CANCELLED",
    }

    def other_page(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[int, bytes]:
        assert headers["authorization"] == "Bearer of mistral"
        match method, urlsplit(path).path.removeprefix("/v1/").split("/"):
            case "POST", ["batch", "jobs"]:
                status, made = self._job(json.loads(payload))
                return status, made
            case "GET", ["batch", "jobs"]:
                jobs = [self._shown(batch) for batch, _ in self._batches.values()]
                return 200, json.dumps({"object": "list", "data": jobs, "total": len(jobs)}).encode()
            case "GET", ["batch", "jobs", name]:
                return 200, json.dumps(self._shown(self._look(name))).encode()
        return super().other_page(method, path, headers, payload)

    def _job(self, asked: Body) -> tuple[int, bytes]:
        (file,) = asked["input_files"]
        lines = [json.loads(line) for line in self._files[file].splitlines()]
        assert all(set(line) == {"custom_id", "body"} and "model" not in line["body"] for line in lines)
        # For the other server, which has the model and the page in every line.
        whole = [line | {"url": asked["endpoint"], "body": line["body"] | {"model": asked["model"]}} for line in lines]
        self._files[file] = "".join(json.dumps(line) + "\n" for line in whole).encode()
        like = {"input_file_id": file, "endpoint": asked["endpoint"], "completion_window": "24h"}
        status, said = self._create(like | {"metadata": asked["metadata"]})
        return status, said if status != 200 else json.dumps(self._shown(json.loads(said))).encode()

    def _shown(self, batch: Body) -> Body:
        errors = (batch.get("errors") or {}).get("data") or ()
        return {
            "id": batch["id"],
            "object": "batch",
            "input_files": [batch["input_file_id"]],
            "endpoint": batch["endpoint"],
            "model": "solver",
            "status": self.STATUS[batch["status"]],
            "created_at": DATE,
            "metadata": batch["metadata"],
            "output_file": batch.get("output_file_id"),
            "error_file": batch.get("error_file_id"),
            "errors": [{"message": error["message"], "count": 1} for error in errors],
            "total_requests": 0,
            "completed_requests": 0,
            "succeeded_requests": 0,
            "failed_requests": 0,
        }


class XaiServer(BatchServer):
    """Files as OpenAI has them, batches with counters in place of a status, results page by page."""

    PAGE = 2

    def other_page(self, method: str, path: str, headers: Mapping[str, str], payload: bytes) -> tuple[int, bytes]:
        assert headers["authorization"] == "Bearer of xai"
        parts = urlsplit(path)
        match method, parts.path.removeprefix("/v1/").split("/"):
            case "POST", ["batches"]:
                asked = json.loads(payload)
                like = {"input_file_id": asked["input_file_id"], "endpoint": "/v1/chat/completions"}
                status, said = self._create(like | {"completion_window": "", "metadata": {"name": asked["name"]}})
                return status, said if status != 200 else json.dumps(self._shown(json.loads(said))).encode()
            case "GET", ["batches"]:
                listing = [self._shown(batch) for batch, _ in self._batches.values()]
                return 200, json.dumps({"batches": listing, "pagination_token": None}).encode()
            case "GET", ["batches", name]:
                return 200, json.dumps(self._shown(self._look(name))).encode()
            case "GET", ["batches", name, "results"]:
                at = int(parse_qs(parts.query).get("pagination_token", ["0"])[0])
                rows = self._rows(name)
                more = str(at + self.PAGE) if at + self.PAGE < len(rows) else None
                page = {"results": rows[at : at + self.PAGE], "pagination_token": more}
                return 200, json.dumps(page).encode()
        return super().other_page(method, path, headers, payload)

    def _shown(self, batch: Body) -> Body:
        lines = self.submitted[int(batch["id"].removeprefix("batch_"))]
        running = batch["status"] in {"validating", "in_progress"}
        shown = {
            "batch_id": batch["id"],
            "name": batch["metadata"]["name"],
            "create_time": "2026-11-22",
            "input_file_id": batch["input_file_id"],
            "state": {"num_requests": len(lines), "num_pending": len(lines) if running else 0},
        }
        if batch["status"] in {"cancelled", "failed"}:
            shown["cancel_time"] = "2026-11-22"
        if batch["status"] == "failed":
            shown["cancel_by_xai_message"] = batch["errors"]["data"][0]["message"]
        return shown

    def _rows(self, name: str) -> list[Body]:
        batch, rows = self._batches[name][0], list[Body]()
        for part in ("output_file_id", "error_file_id"):
            for line in self._files.get(batch.get(part) or "", b"").splitlines():
                found: dict[str, Any] = json.loads(line)
                response = found["response"]
                good = response is not None and response["status_code"] == 200
                said = {"response": {"chat_get_completion": response["body"]}} if good else {"error": {"message": "x"}}
                rows.append({"batch_request_id": found["custom_id"], "batch_result": said})
        return rows
