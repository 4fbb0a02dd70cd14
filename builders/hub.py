"""The only door to the Hugging Face Hub: fetch files of a dataset repository at one commit."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from builders.release import MAX_FILE_BYTES, ReleaseError

REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
COMMIT = re.compile(r"[0-9a-f]{40}")


class HubError(RuntimeError):
    """The Hub could not be reached or failed; the same command may work later."""


def fetch(repo: str, revision: str, choose: Callable[[Sequence[str]], Sequence[str]]) -> tuple[list[Path], str]:
    """Download files of a dataset repository and return them with the 40-hex commit that they are from.

    Files already in the Hub cache at that commit are not downloaded again.

    Args:
        repo: `namespace/name`.
        revision: 40-hex commit, or a branch or tag, which is looked up once.
        choose: Gets all file names of the commit, returns those to download.

    Raises:
        ReleaseError: If there is no such repository, revision or file, or access is refused, or a file is too large.
        HubError: If the Hub cannot be reached or fails.
    """
    import httpx
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )
    from huggingface_hub.hf_api import RepoFile

    api = HfApi()
    try:
        commit = revision if COMMIT.fullmatch(revision) else api.dataset_info(repo, revision=revision).sha
        if commit is None or COMMIT.fullmatch(commit) is None:
            raise HubError(f"the Hub names no commit for {repo}@{revision}; give --revision as 40 hex digits")
        tree = api.list_repo_tree(repo, repo_type="dataset", revision=commit, recursive=True)
        sizes = {entry.path: entry.size for entry in tree if isinstance(entry, RepoFile)}
        chosen = list(choose(sorted(sizes)))
        for name in chosen:
            if sizes[name] > MAX_FILE_BYTES:
                raise ReleaseError(f"{repo}@{commit}: {name} has more than {MAX_FILE_BYTES:,} bytes")
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=commit, allow_patterns=chosen))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        raise HubError(_unreachable(repo, error)) from error
    except (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError, HFValidationError) as error:
        raise ReleaseError(
            f"the Hub does not show {repo}@{revision} ({_first_line(error)}); check both, and `hf auth login` "
            "where the repository is private or gated"
        ) from error
    except (HfHubHTTPError, httpx.HTTPError, httpx.InvalidURL) as error:
        raise HubError(_unreachable(repo, error)) from error
    return [folder / name for name in chosen], commit


def _unreachable(repo: str, error: Exception) -> str:
    return (
        f"the Hub did not give {repo} ({_first_line(error)}); run the same command again later, "
        "or give a local folder with the release's files"
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
