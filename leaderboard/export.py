"""Writes results in the formats of others, or proposes them to a model's repository on the Hub.

    python -m leaderboard export --format eval-results|every-eval-ever|model-index|inspect [--out DIR]

Reads the store alone: run `python -m leaderboard build` first.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from leaderboard import export_formats as formats
from leaderboard.export_formats import Place, Result

OUT = Path("build/export")
FORMATS = ("eval-results", "every-eval-ever", "model-index", "inspect")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class ExportError(ValueError):
    """Nothing was written; the message says what to do."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the options of `export`."""
    parser.add_argument("--format", required=True, choices=FORMATS, help="who is to read it")
    parser.add_argument("--split", help="only this split")
    parser.add_argument("--model", help="only this model, named as on the board")
    parser.add_argument("--dataset", metavar="NAMESPACE/NAME", help="the split's dataset on the Hub")
    parser.add_argument("--revision", metavar="COMMIT", help="commit of that dataset, 40 hex digits")
    parser.add_argument(
        "--out", type=Path, default=OUT, metavar="DIR", help="folder to write to (default: %(default)s)"
    )
    parser.add_argument("--schema", type=Path, metavar="FILE", help="JSON schema that every JSON document must fit")
    parser.add_argument("--create-pr", action="store_true", help="propose eval-results to --model-repo on the Hub")
    parser.add_argument("--model-repo", metavar="NAMESPACE/NAME", help="the model's repository on the Hub")


def main(arguments: argparse.Namespace) -> int:
    """Write the files and print their paths, or propose them; 3 if the Hub fails.

    Raises:
        ValueError: If there is no such row, or an option is missing or malformed.
        OSError: If the store cannot be read or a file not written.
    """
    from builders.hub import HubError

    _check(arguments)
    files = documents(_chosen(arguments), arguments.format, Place(arguments.dataset, arguments.revision))
    if arguments.schema:
        _validate(files, arguments.schema)
    if arguments.create_pr:
        try:
            print(propose(files, arguments.model_repo))
        except HubError as error:
            print(f"error: {error}", file=sys.stderr)
            return 3
        return 0
    for name, text in files.items():
        path = arguments.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)
    return 0


def documents(found: Sequence[Result], format_: str, place: Place) -> dict[str, str]:
    """Write every result in one format: text by path, the same for the same store.

    Raises:
        ValueError: If the format names the dataset and `place` does not.
    """
    if format_ in ("every-eval-ever", "inspect"):
        files = {}
        for result in found:
            path = formats.eee_path(result)
            content = formats.every_eval_ever(result, place)
            if format_ == "inspect":
                path, content = path.removeprefix("data/"), formats.inspect_log(result, place)
            files[path] = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        return files
    grouped: dict[tuple[str, str, str], list[Result]] = {}
    for result in found:
        split = result.like.split if format_ == "eval-results" else ""
        grouped.setdefault((result.developer, result.model, split), []).append(result)
    if format_ == "eval-results":
        return dict(_eval_results(group, place) for group in grouped.values())
    return dict(_model_index(group, place) for group in grouped.values())


def propose(files: dict[str, str], repo: str) -> str:
    """Open a pull request with `.eval_results` files in a model's repository, unless it holds them already.

    Raises:
        builders.release.ReleaseError, builders.hub.HubError: If the Hub refuses or fails.
    """
    from builders import hub

    there = hub.look(repo, kind="model")
    if there is None:
        raise ExportError(f"the Hub shows no model {repo}; check the name, and the token where it is private")
    inside = {".eval_results/" + PurePosixPath(name).name: text.encode() for name, text in files.items()}
    for where, commit in (("main", there.main), *((f"pull request {n}", c) for n, c in sorted(there.pulls.items()))):
        held = hub.blobs(repo, commit, kind="model")
        if all(hub.same_blob(held.get(path), data) for path, data in inside.items()):
            return f"{repo} has these results in {where}; nothing was changed"
    done = hub.commit_files(
        repo, inside, message="Add results of Deerstalker", parent=there.main, create_pr=True, kind="model"
    )
    return f"proposed {done.url}"


def _eval_results(found: Sequence[Result], place: Place) -> tuple[str, str]:
    from builders import hub

    first = found[0]
    content = hub.result_entries([formats.eval_result(result, place) for result in found])
    path = f"{first.developer}/{first.model}/.eval_results/deerstalker-{formats.plain(first.like.split)}.yaml"
    return path, _yaml(content)


def _model_index(found: Sequence[Result], place: Place) -> tuple[str, str]:
    from builders import hub

    first = found[0]
    content = hub.model_index(first.like.model, [formats.index_result(result, place) for result in found])
    return f"{first.developer}/{first.model}/model-index.yaml", _yaml({"model-index": content})


def _yaml(content: Any) -> str:
    import yaml

    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)


def _check(arguments: argparse.Namespace) -> None:
    from builders.hub import REPO

    for option in ("dataset", "model_repo"):
        given = getattr(arguments, option)
        if given is not None and REPO.fullmatch(given) is None:
            raise ExportError(f"--{option.replace('_', '-')} {given!r} is not a repository such as deerstalker/samples")
    if arguments.revision is not None and _COMMIT.fullmatch(arguments.revision) is None:
        raise ExportError(f"--revision {arguments.revision!r} is not a commit of 40 hex digits")
    if arguments.create_pr and (arguments.format != "eval-results" or not (arguments.model and arguments.model_repo)):
        raise ExportError("--create-pr proposes one model's eval-results: give --model and --model-repo with them")
    if arguments.schema and arguments.format not in ("every-eval-ever", "inspect"):
        raise ExportError(f"--schema checks JSON documents; {arguments.format} is YAML")


def _chosen(arguments: argparse.Namespace) -> tuple[Result, ...]:
    from evaluators.store import open_store, store_path
    from leaderboard.boards import boards

    with open_store(store_path(), read_only=True) as store:
        every = formats.results(boards(store))
    found = tuple(
        r for r in every if arguments.split in (None, r.like.split) and arguments.model in (None, r.like.model)
    )
    if not found:
        splits = ", ".join(sorted({r.like.split for r in every})) or "none"
        raise ExportError(f"no row fits in {store_path()}; splits with rows: {splits}. Build the leaderboard first")
    return found


def _validate(files: dict[str, str], schema: Path) -> None:
    import jsonschema

    try:
        content = json.loads(schema.read_bytes())
    except ValueError as error:
        raise ExportError(f"{schema} is not JSON ({error})") from error
    check = jsonschema.validators.validator_for(content)(content)
    for name, text in files.items():
        wrong = next(check.iter_errors(json.loads(text)), None)
        if wrong is not None:
            raise ExportError(f"{name} does not fit {schema}: {wrong.json_path}: {wrong.message[:300]}")
