"""Logs as Inspect 0.3 and lm-eval 0.4 write them, with the fields that matter and some that do not."""

import io
import json
import sys
from collections.abc import Sequence
from typing import Any

if sys.version_info >= (3, 14):
    import zipfile
else:
    from backports.zstd import zipfile

ZSTANDARD = 93


def sample(item_id: str, text: str, *, epoch: int = 1, stop_reason: str = "stop", **fields: Any) -> dict[str, Any]:
    """A finished sample of an Inspect log."""
    said = {"role": "assistant", "content": text, "source": "generate", "model": "x"}
    output = {"model": "x", "choices": [{"message": said, "stop_reason": stop_reason}], "completion": text}
    asked = {"id": item_id, "epoch": epoch, "input": "a riddle", "target": "gold"}
    return asked | {"messages": [said], "output": output, "scores": {}, "metadata": {}, "events": []} | fields


def eval_log(samples: Sequence[dict[str, Any]], *, compression: int = ZSTANDARD) -> bytes:
    """The archive that Inspect writes by default."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression=compression) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2}))
        for one in samples:
            archive.writestr(f"samples/{one.get('id')}_epoch_{one.get('epoch')}.json", json.dumps(one))
        archive.writestr("header.json", json.dumps(_header(len(samples))))
    return held.getvalue()


def json_log(samples: Sequence[dict[str, Any]]) -> bytes:
    """The same log with `--log-format json`."""
    return json.dumps(_header(len(samples)) | {"samples": list(samples)}, indent=2).encode()


def _header(samples: int) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "made", "model": "openai/x"}, "results": {"n": samples}}


def lm_eval_row(n: int, doc: dict[str, Any], texts: Sequence[str], *, filter_name: str = "none") -> dict[str, Any]:
    """A line of lm-eval's samples_*.jsonl."""
    return {
        "doc_id": n,
        "doc": doc,
        "target": "gold",
        "arguments": {"gen_args_0": {"arg_0": ["a riddle"], "arg_1": {"until": []}}},
        "resps": [list(texts)],
        "filtered_resps": [texts[0] if texts else ""],
        "filter": filter_name,
        "metrics": ["exact_match"],
        "exact_match": 0.0,
    }
