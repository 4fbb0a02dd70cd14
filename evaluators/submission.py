"""Who is evaluated, how and by whom: the identity of a submission and what it says of itself."""

import json
import re
import subprocess
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from builders.values import SplitManifest
from evaluators.models import public
from evaluators.replies import total_cost, total_usage
from evaluators.run import Outcome, count
from evaluators.values import Model, Panel, Submission


def slug(text: str) -> str:
    """Make a name safe for files: lower case letters, digits, dots and dashes, at most 60."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "model"


def identity(manifest: SplitManifest, model: Model, *more: Any) -> str:
    """Name what a model does on a split: the same parts give the same name on any machine."""
    parts = [manifest.sha256, public(model), *more]
    text = json.dumps(parts, sort_keys=True, default=lambda value: value.model_dump(mode="json"))
    return f"{slug(model.name)}-{sha256(text.encode()).hexdigest()[:12]}"


def began(folder: Path, name: str) -> str:
    """Return the day a run began, YYYY-MM-DD in UTC, and write it down at its first start: a resumed run keeps it.

    Raises:
        OSError: If the folder cannot be written.
    """
    path = folder / f"{name}.began"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(datetime.now(UTC).date().isoformat() + "\n", encoding="utf-8")
    return path.read_text(encoding="utf-8").strip()


def code_version() -> str | None:
    """Commit of this checkout, with `+changes` where files differ from it; None outside git."""
    git = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--abbrev=40",
        "--exclude=*",
        "--dirty=+changes",
    ]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True, timeout=10).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None


def submission(
    name: str,
    manifest: SplitManifest,
    model: Model,
    panel: Panel,
    outcome: Outcome,
    *,
    condition: str,
    epochs: int,
    expected: int,
    date: str,
    **said: Any,
) -> Submission:
    """Describe a finished run; everything that can be counted is counted from the outcome.

    Args:
        said: What only the submitter knows, by the names of the fields of `Submission`.
    """
    # One walk over each kind of row: they may come from disk.
    votes = [(v.judge, v.prompt_sha256, v.cost_usd) for v in outcome.verdicts if v.kind == "model"]
    spent = [(t.usage, t.cost_usd) for t in outcome.transcripts]
    return Submission(
        submission_id=name,
        benchmark=manifest.benchmark,
        split=manifest.split,
        version=manifest.version,
        split_sha256=manifest.sha256,
        protocol=manifest.protocol,
        condition=condition,
        epochs=epochs,
        model=public(model),
        jury=panel.name,
        judges=tuple(sorted({judge for judge, _, _ in votes})),
        prompt_sha256=tuple(sorted({prompt for _, prompt, _ in votes if prompt})),
        date=date,
        code_version=code_version(),
        counts=count(outcome, expected=expected, seats=panel.sitting),
        usage=total_usage([usage for usage, _ in spent]),
        cost_usd=total_cost([cost for _, cost in spent]),
        jury_cost_usd=total_cost([cost for _, _, cost in votes]),
        **said,
    )
