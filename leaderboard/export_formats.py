"""A row of a board in the formats where others look: Community Evals, Every Eval Ever, model-index, Inspect.

Aggregates only, so that nothing about the items of a sealed split can leave. No clock: dates are those of the runs.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from builders import BENCHMARKS
from evaluators.values import Estimate, Submission

if TYPE_CHECKING:  # they load numpy and scipy, which `--help` has no use for
    from leaderboard.boards import Board, Line

EEE_SCHEMA = "0.3.0"
HOME = "Deerstalker"
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


class Place(NamedTuple):
    """Where the items are: dataset repository on the Hub and its commit, as far as they are known."""

    dataset: str | None
    revision: str | None


class Result(NamedTuple):
    """A model's headline number on a board, with what has to be said beside it."""

    board: "Board"
    line: "Line"

    @property
    def like(self) -> Estimate:
        """The headline estimate: `items like these`."""
        return self.line.like

    @property
    def submission(self) -> Submission:
        """Whose run it is."""
        return self.line.submission

    @property
    def developer(self) -> str:
        """Maker of the model, fit for a path."""
        return plain(self.like.provider)

    @property
    def model(self) -> str:
        """Name of the model without its maker, fit for a path."""
        return plain(self.like.model.removeprefix(f"{self.like.provider}/"))


def results(boards: "Sequence[Board]") -> tuple[Result, ...]:
    """Every headline number of the boards, ranked rows before self-reported ones."""
    return tuple(
        Result(board, line)
        for board in boards
        for section in board.sections
        for line in (*section.ranked, *section.self_reported)
    )


def plain(name: str) -> str:
    """Make one path component of a name that a stranger chose; two names never share one."""
    clean = _PLAIN.sub("_", name).strip("._")[:80]
    return clean if clean and clean == name else f"{clean}-{sha256(name.encode()).hexdigest()[:8]}".lstrip("-")


def notes(result: Result) -> str:
    """What a bare number leaves out, in one line."""
    like, (low, high) = result.like, result.line.these
    parts = [
        f"{100 * like.level:.0f} % interval {100 * like.low:.1f} to {100 * like.high:.1f} on items like these, "
        f"{low} to {high} on these items ({like.method})",
        f"{like.split}@{like.version}, {like.condition}",
        f"n={like.n}, human labels of its own {like.n_human}",
        f"jury {like.jury}: {', '.join(result.submission.judges)}",
        f"tier {like.tier}",
        *(["provisional"] if like.provisional else []),
        *like.notes,
    ]
    if result.submission.split_sha256:
        parts.append(f"items sha256 {result.submission.split_sha256}")
    return "; ".join(parts)


def eval_result(result: Result, place: Place) -> dict[str, Any]:
    """The fields of `EvalResultEntry` for `.eval_results/*.yaml`; the value is in points."""
    if place.dataset is None:
        raise ValueError("these formats name the dataset on the Hub: give it with --dataset NAMESPACE/NAME")
    entry: dict[str, Any] = {
        "dataset_id": place.dataset,
        "task_id": result.like.split,
        "value": round(100 * result.like.value, 2),
        "date": result.submission.date,
        "notes": notes(result),
    }
    if place.revision:
        entry["dataset_revision"] = place.revision
    return entry


def index_result(result: Result, place: Place) -> dict[str, Any]:
    """The fields of `EvalResult` for `model-index` in a model card; the value is in points."""
    if place.dataset is None:
        raise ValueError("these formats name the dataset on the Hub: give it with --dataset NAMESPACE/NAME")
    like = result.like
    return {
        "task_type": "question-answering",
        "dataset_type": place.dataset,
        "dataset_name": result.board.title,
        "dataset_config": like.split,
        "dataset_split": "test",
        "dataset_revision": place.revision or f"v{like.version}",
        "metric_type": like.metric,
        "metric_name": f"{like.metric}, {like.condition}, {like.split}@{like.version}",
        "metric_value": round(100 * like.value, 2),
        "metric_args": {"interval": [round(100 * like.low, 2), round(100 * like.high, 2)], "notes": notes(result)},
    }


def every_eval_ever(result: Result, place: Place) -> dict[str, Any]:
    """One document of Every Eval Ever's schema 0.3: one model, one split, one condition, as fractions."""
    like, submission = result.like, result.submission
    day = datetime.fromisoformat(submission.date).replace(tzinfo=UTC)
    when = str(int(day.timestamp()))
    name = f"{like.split}@{like.version}/{result.developer}_{result.model}"
    return {
        "schema_version": EEE_SCHEMA,
        "evaluation_id": f"{name}/{submission.submission_id}/{when}",
        "evaluation_timestamp": submission.date,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": HOME,
            "source_type": "evaluation_run",
            "source_organization_name": HOME,
            "evaluator_relationship": "other" if like.tier == "self-reported" else "third_party",
            "additional_details": {"tier": like.tier, "submission_id": submission.submission_id},
        },
        "eval_library": {"name": "deerstalker", "version": submission.code_version or "unknown"},
        "model_info": _model(like.model, like.provider, submission.open_weights),
        "evaluation_results": [_eee_result(result, place)],
    }


def _eee_result(result: Result, place: Place) -> dict[str, Any]:
    like, submission = result.like, result.submission
    decoding = submission.model.decoding.model_dump(exclude_none=True)
    arguments = {k: decoding[k] for k in ("temperature", "top_p", "max_tokens") if k in decoding}
    more = {k: str(v) for k, v in decoding.items() if k not in arguments}
    return {
        "evaluation_name": f"{result.board.title}, {like.condition}",
        "evaluation_result_id": f"{submission.submission_id}/{like.metric}",
        "source_data": _source(result, place),
        "metric_config": {
            "metric_id": f"deerstalker.{like.metric}",
            "metric_name": like.metric,
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
            "llm_scoring": {
                "judges": [{"model_info": _model(judge, None, None)} for judge in submission.judges],
                "input_prompt": f"Prompt templates with sha256 {', '.join(submission.prompt_sha256) or 'unknown'}",
                "aggregation_method": "average",
            },
        },
        "score_details": {
            "score": like.value,
            "details": {"notes": notes(result)},
            "uncertainty": {
                "confidence_interval": {
                    "lower": like.low,
                    "upper": like.high,
                    "confidence_level": like.level,
                    "method": f"{like.method}, {like.estimand}",
                },
                "num_samples": like.n,
            },
        },
        "generation_config": {
            "generation_args": arguments,
            "additional_details": {**more, "condition": like.condition, "epochs": str(submission.epochs)},
        },
    }


def _source(result: Result, place: Place) -> dict[str, Any]:
    like = result.like
    details = {"split": like.split, "version": like.version}
    if result.submission.split_sha256:
        details["items_sha256"] = result.submission.split_sha256
    named: dict[str, Any] = {"dataset_name": result.board.title, "additional_details": details}
    if place.dataset:
        return named | {"source_type": "hf_dataset", "hf_repo": place.dataset, "hf_split": "test"}
    urls = [s.url for b in BENCHMARKS if like.split in b.splits for s in b.sources if s.url.startswith("https:")]
    return named | ({"source_type": "url", "url": urls} if urls else {"source_type": "other"})


def _model(name: str, provider: str | None, open_weights: bool | None) -> dict[str, Any]:
    weights = {True: "open_weights", False: "closed_weights", None: "unknown"}[open_weights]
    found: dict[str, Any] = {
        "name": name,
        "id": name if "/" in name or not provider else f"{provider}/{name}",
        "additional_details": {"deployment_type": "unknown", "model_availability": weights},
    }
    return found | ({"developer": provider} if provider else {})


def eee_path(result: Result) -> str:
    """Where Every Eval Ever keeps such a document."""
    key = f"{result.like.split}@{result.like.version}\n{result.submission.submission_id}\n{result.like.metric}"
    # The same document keeps its name; the format asks for the form of a random UUID.
    name = uuid.UUID(bytes=sha256(key.encode()).digest()[:16], version=4)
    return f"data/deerstalker-{plain(result.like.split)}/{result.developer}/{result.model}/{name}.json"


def inspect_log(result: Result, place: Place) -> dict[str, Any]:
    """The header of an Inspect log, version 2: settings and metrics without samples."""
    like, submission, counts = result.like, result.submission, result.submission.counts
    created = f"{submission.date}T00:00:00+00:00"
    metrics: Mapping[str, float] = {"value": like.value, "interval_low": like.low, "interval_high": like.high}
    decoding = submission.model.decoding.model_dump(exclude_none=True)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": submission.submission_id,
            "run_id": submission.submission_id,
            "created": created,
            "task": f"deerstalker/{like.split}",
            "task_id": like.split,
            "task_version": like.version,
            "task_args": {"condition": like.condition},
            "dataset": {"name": like.split, "location": place.dataset, "samples": counts.expected // submission.epochs},
            "model": like.model,
            "model_generate_config": {
                k: decoding[k] for k in ("temperature", "top_p", "max_tokens", "seed") if k in decoding
            },
            "config": {"epochs": submission.epochs},
            "metadata": {"notes": notes(result), "tier": like.tier, "jury": like.jury},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},  # Inspect's reader of headers asks for one
        "results": {
            "total_samples": counts.expected,
            "completed_samples": counts.expected - counts.missing - counts.failed,
            "scores": [
                {
                    "name": like.metric,
                    "scorer": "jury of three, corrected by labelled answers",
                    "scored_samples": counts.scored + counts.no_answer,
                    "unscored_samples": counts.unjudged + counts.failed + counts.missing,
                    "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
                }
            ],
        },
        "stats": {"started_at": created, "completed_at": created},
    }
