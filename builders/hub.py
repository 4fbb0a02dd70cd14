"""The only door to the Hugging Face Hub: read and write dataset repositories, each step whole or not at all.

The token is the one that huggingface_hub finds: `HF_TOKEN`, `hf auth login`, or a trusted publisher in CI.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from builders.release import MAX_FILE_BYTES, ReleaseError

REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
COMMIT = re.compile(r"[0-9a-f]{40}")
Gated = Literal["manual", "auto"]
RepoType = Literal["dataset", "model"]


class HubError(RuntimeError):
    """The Hub could not be reached or failed; the same command may work later."""


class HubRefusedError(ReleaseError):
    """The Hub said no; token, repository or request have to be mended first."""


class Repository(NamedTuple):
    """Where the branches of a repository point."""

    main: str
    tags: Mapping[str, str]
    pulls: Mapping[int, str]


class Proposal(NamedTuple):
    """What a commit became: its 40-hex id, and the page of the pull request where it is one."""

    commit: str
    url: str | None


def fetch(repo: str, revision: str, choose: Callable[[Sequence[str]], Sequence[str]]) -> tuple[list[Path], str]:
    """Download files of a dataset repository and return them with the 40-hex commit that they are from.

    Files already in the Hub cache at that commit are not downloaded again; where the Hub is out of reach or
    `HF_HUB_OFFLINE=1` is set, the cache alone answers.

    Args:
        repo: `namespace/name`.
        revision: 40-hex commit, or a branch or tag, which is looked up once.
        choose: Gets all file names of the commit (offline: those in the cache), returns those to download.

    Raises:
        ReleaseError: If there is no such repository, revision or file, or access is refused, or a file is too large.
        HubError: If the Hub cannot be reached or fails, and the cache has no such revision.
    """
    import httpx
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, OfflineModeIsEnabled

    with _explained(repo, revision):
        try:
            commit = revision if COMMIT.fullmatch(revision) else HfApi().dataset_info(repo, revision=revision).sha
            if commit is None or COMMIT.fullmatch(commit) is None:
                raise HubError(f"the Hub names no commit for {repo}@{revision}; give --revision as 40 hex digits")
            sizes = {path: size for path, (size, _) in _tree(repo, commit).items()}
        except (httpx.ConnectError, httpx.TimeoutException, OfflineModeIsEnabled) as error:
            try:
                return _cached(repo, revision, choose)
            except LocalEntryNotFoundError:
                raise HubError(_unreachable(repo, error)) from error
        chosen = list(choose(sorted(sizes)))
        for name in chosen:
            if sizes[name] > MAX_FILE_BYTES:
                raise ReleaseError(f"{repo}@{commit}: {name} has more than {MAX_FILE_BYTES:,} bytes")
        try:
            # By the name that was asked for: the cache then knows it too, and answers to it offline.
            folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision, allow_patterns=chosen))
        except EntryNotFoundError as error:
            raise HubError(_unreachable(repo, error)) from error
    if folder.name != commit:
        raise HubError(f"{repo}@{revision} moved while it was read; run the same command again")
    return [folder / name for name in chosen], commit


def _cached(repo: str, revision: str, choose: Callable[[Sequence[str]], Sequence[str]]) -> tuple[list[Path], str]:
    from huggingface_hub import snapshot_download

    # No file matches, so that a cache which holds only some of the files is not refused as a whole.
    folder = Path(
        snapshot_download(repo, repo_type="dataset", revision=revision, local_files_only=True, allow_patterns=["?/"])
    )
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [folder / name for name in choose(names)], folder.name


def look(repo: str, *, kind: RepoType = "dataset") -> Repository | None:
    """Say where main, the tags and the pull requests of a repository point; None if it does not exist for this token.

    Raises:
        HubRefusedError, HubError: If the Hub refuses or fails.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    with _explained(repo):
        try:
            refs = HfApi().list_repo_refs(repo, repo_type=kind, include_pull_requests=True)
        except RepositoryNotFoundError as error:
            if error.response.status_code == 404 or not _token():
                return None
            raise
        main = {ref.name: ref.target_commit for ref in refs.branches}.get("main")
        if main is None:
            raise HubError(f"{repo} has no branch main on the Hub; look at it there")
        pulls = {
            int(ref.ref.rpartition("/")[2]): ref.target_commit
            for ref in refs.pull_requests or ()
            if ref.ref.rpartition("/")[2].isdigit()
        }
        return Repository(main, {ref.name: ref.target_commit for ref in refs.tags}, pulls)


def blobs(repo: str, commit: str, *, kind: RepoType = "dataset") -> dict[str, str]:
    """Name the content of every file at a commit, as `same_blob` compares it.

    Raises:
        HubRefusedError, HubError: If the Hub refuses or fails.
    """
    with _explained(repo, commit):
        return {path: blob for path, (_, blob) in _tree(repo, commit, kind).items()}


def same_blob(blob: str | None, data: bytes) -> bool:
    """Whether a file on the Hub, as `blobs` names it, holds these bytes."""
    return blob in (sha256(data).hexdigest(), sha1(b"blob %d\0" % len(data) + data).hexdigest())  # noqa: S324


def create(repo: str, *, private: bool = False, gated: Gated | None = None) -> None:
    """Make a dataset repository if there is none, and set who may read it; nothing else about an old one changes.

    Raises:
        HubRefusedError, HubError: If the Hub refuses or fails.
    """
    from huggingface_hub import HfApi

    with _explained(repo):
        HfApi().create_repo(repo, repo_type="dataset", private=private or None, exist_ok=True)
        if gated or private:
            HfApi().update_repo_settings(repo, repo_type="dataset", gated=gated, private=private or None)


def commit_files(
    repo: str,
    files: Mapping[str, bytes],
    *,
    message: str,
    parent: str,
    remove: Sequence[str] = (),
    create_pr: bool = False,
    kind: RepoType = "dataset",
) -> Proposal:
    """Put files into a repository in one commit on top of `parent`, or propose it.

    Raises:
        HubRefusedError: If the Hub refuses token, card or size.
        HubError: If the Hub fails, or main is no longer at `parent`.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    changes: list[CommitOperationAdd | CommitOperationDelete] = [
        CommitOperationAdd(path, data) for path, data in sorted(files.items())
    ]
    changes += [CommitOperationDelete(path, is_folder=False) for path in remove]
    with _explained(repo):
        try:
            done = HfApi().create_commit(
                repo, changes, commit_message=message, repo_type=kind, parent_commit=parent, create_pr=create_pr
            )
        except ValueError as error:
            if isinstance(error, OSError | json.JSONDecodeError):  # an answer of the Hub, explained below
                raise
            said = " ".join(str(error).split())[:300]
            raise HubRefusedError(f"the Hub refuses the files for {repo}: {said}") from error
    return Proposal(done.oid, done.pr_url)


def tag(repo: str, name: str, commit: str) -> None:
    """Set a tag on a commit.

    Raises:
        HubRefusedError: If the Hub refuses the token.
        HubError: If the tag exists already, or the Hub fails.
    """
    from huggingface_hub import HfApi

    with _explained(repo):
        HfApi().create_tag(repo, tag=name, revision=commit, repo_type="dataset")


def result_entries(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write evaluation results in the form of `.eval_results/*.yaml`; keys as in `EvalResultEntry`."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    return eval_result_entries_to_yaml([EvalResultEntry(**entry) for entry in entries])


def model_index(model: str, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Write evaluation results in the form of `model-index` in a model card; keys as in `EvalResult`."""
    from huggingface_hub.repocard_data import EvalResult, eval_results_to_model_index

    return eval_results_to_model_index(model, [EvalResult(**result) for result in results])


def _tree(repo: str, commit: str, kind: RepoType = "dataset") -> dict[str, tuple[int, str]]:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    tree = HfApi().list_repo_tree(repo, repo_type=kind, revision=commit, recursive=True)
    return {f.path: (f.size, f.lfs.sha256 if f.lfs else f.blob_id) for f in tree if isinstance(f, RepoFile)}


def _token() -> str | None:
    from huggingface_hub import get_token

    return get_token()


@contextmanager
def _explained(repo: str, revision: str | None = None) -> Iterator[None]:
    """Turn what huggingface_hub raises into one of two errors that say what to do."""
    import httpx
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        OIDCError,
        RepositoryNotFoundError,
    )
    from huggingface_hub.utils.tqdm import disable_progress_bars

    at = f"{repo}@{revision}" if revision else repo
    if not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    except (HubError, ReleaseError):
        raise
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise HubError(_unreachable(repo, error)) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        if isinstance(error, RepositoryNotFoundError) and not _token():
            status = 404  # the Hub says 401 about what it hides from strangers, and about what is not there
        raise _answered(at, status, _first_line(error)) from error
    except HFValidationError as error:
        raise ReleaseError(f"the Hub does not show {at} ({_first_line(error)}); write it as namespace/name") from error
    except OIDCError as error:
        raise HubRefusedError(f"no token from the trusted publisher for {repo} ({_first_line(error)})") from error
    except (httpx.HTTPError, httpx.InvalidURL, json.JSONDecodeError) as error:
        raise HubError(_unreachable(repo, error)) from error
    except RuntimeError as error:  # how huggingface_hub wraps the upload of an LFS object that failed
        if isinstance(error.__cause__, HfHubHTTPError):
            raise _answered(at, error.__cause__.response.status_code, _first_line(error.__cause__)) from error
        raise HubError(_unreachable(repo, error.__cause__ or error)) from error


def _answered(at: str, status: int, said: str) -> HubError | ReleaseError:
    repo = at.partition("@")[0]
    if status in (401, 403):
        return HubRefusedError(
            f"the Hub refuses the token for {repo} ({said}); it is missing, expired or may not do this: set HF_TOKEN "
            f"to one with the right to {repo}, or `hf auth login`"
        )
    if status == 404:
        return ReleaseError(
            f"the Hub does not show {at} ({said}); check both, and `hf auth login` where the repository is private "
            "or gated"
        )
    if status == 413:
        return HubRefusedError(f"the Hub says a file for {repo} is too large ({said}); nothing was published")
    if status in (409, 412):
        return HubError(f"somebody else changed {repo} at the same time ({said}); run the same command again")
    if status == 429:
        return HubError(f"the Hub asks for fewer requests ({said}); wait some minutes, then run the same command again")
    return HubError(_unreachable(repo, said))


def _unreachable(repo: str, error: BaseException | str) -> str:
    return f"the Hub did not answer for {repo} ({_first_line(error)}); run the same command again later"


def _first_line(error: BaseException | str) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
