"""Publish a benchmark on the Hub: one commit with everything, then the tag. What was interrupted ends right on repeat.

`plan` asks and refuses and changes nothing; `carry_out` does the few writes, each of which is whole or not there.
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from builders import hub
from builders.cards import card, changelog, eval_yaml
from builders.packing import Packed, find_benchmark, pack
from builders.remote import MANIFEST, Published, read_release
from builders.splits import DEFAULT_ROOT, SplitError
from builders.values import Benchmark, FileSha256, PublishedSplit, Release, Value
from builders.versions import Change, VersionError, check_version, compare, largest, numbers

PROMPTS = Path(__file__).parent.parent / "evaluators" / "prompts"


class Plan(NamedTuple):
    """What a publication would do."""

    repo: str
    version: str
    files: Mapping[str, bytes]
    stale: tuple[str, ...]
    changes: Mapping[str, Change]
    base: str | None
    there: hub.Repository | None
    published: bool

    @property
    def tag(self) -> str:
        """`v1.0.0`."""
        return f"v{self.version}"


def plan(name: str, *, version: str, repo: str, root: Path = DEFAULT_ROOT, ids_only: bool = False) -> Plan:
    """Work out what publishing a benchmark at a version would do; nothing is written anywhere.

    Args:
        name: Benchmark; all its splits are built at `version` under `root`.
        version: `1.0.0`.
        repo: `namespace/name` of a dataset repository, which need not exist yet.
        root: Folder of the built splits.
        ids_only: Publish ids and row digests instead of rows.

    Raises:
        PackError, SplitError, VersionError: If it must not be published, or not under this version.
        builders.release.ReleaseError, builders.hub.HubError: If the Hub refuses or fails.
    """
    benchmark = find_benchmark(name)
    prompts = prompts_sha256(benchmark.protocol)
    packed = {s: pack(root, s, version, prompts_sha256=prompts, ids_only=ids_only) for s in benchmark.splits}
    there = hub.look(repo)
    base, published = stand(there, repo, version)
    old = read_release(repo, f"v{base}") if base else None
    same = _read_tag(repo, f"v{version}") if published else None
    changes = _changes(old, packed)
    if old and not published:
        check_version(old.release.version, version, largest("none", *(c.size for c in changes.values())))
    packed = {s: _adopt(p, s, same, old) for s, p in packed.items()}
    files = assemble(benchmark, packed, changes, repo=repo, version=version, old=old, prompts_sha256=prompts)
    if same and there:
        check_equal(files, hub.blobs(repo, there.tags[f"v{version}"]), repo, version)
    stale = sorted({f.path for f in old.release.files} - files.keys()) if old else []
    return Plan(repo, version, files, tuple(stale), changes, base, there, published)


def stand(there: hub.Repository | None, repo: str, version: str) -> tuple[str | None, bool]:
    """Where a version stands among those that are out: the one before it, and whether it is out itself.

    Raises:
        VersionError: If a later one is out and this one is not.
    """
    out = sorted((t[1:] for t in there.tags if _is_version(t)), key=numbers) if there else []
    below = [v for v in out if numbers(v) < numbers(version)]
    if version not in out and below != out:
        raise VersionError(f"{repo} has v{out[-1]} already: give a version above {out[-1]}")
    return (below[-1] if below else None), version in out


def prompts_sha256(protocol: str) -> str | None:
    """Digest the prompts of a protocol: with other prompts the same items are another measurement."""
    folder = PROMPTS / protocol
    paths = sorted(path for path in folder.rglob("*") if path.suffix in {".md", ".yaml"})
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in paths]
    return sha256("".join(sums).encode()).hexdigest() if sums else None


def assemble(
    benchmark: Benchmark,
    packed: Mapping[str, Packed],
    changes: Mapping[str, Change],
    *,
    repo: str,
    version: str,
    old: Published | None,
    prompts_sha256: str | None,
) -> dict[str, bytes]:
    """Make every file of a release, by path; equal splits after equal versions make equal bytes."""
    files = {f"{split}/{name}": data for split, p in packed.items() for name, data in p.files.items()}
    before = old.files.get("CHANGELOG.md", b"").decode() if old else None
    files["CHANGELOG.md"] = changelog(version, changes, before).encode()
    files["README.md"] = card(benchmark, packed, repo=repo, version=version).encode()
    if tasks := eval_yaml(benchmark, packed):
        files["eval.yaml"] = tasks.encode()
    release = Release(
        benchmark=benchmark.name,
        version=version,
        prompts_sha256=prompts_sha256,
        splits=tuple(PublishedSplit(split=s, form=p.form) for s, p in packed.items()),
        files=tuple(FileSha256(path=path, sha256=sha256(data).hexdigest()) for path, data in sorted(files.items())),
    )
    files[MANIFEST] = _pretty(release)
    return files


def carry_out(plan: Plan, *, private: bool = False, gated: hub.Gated | None = None, create_pr: bool = False) -> str:
    """Do what a plan says, and say what became of it.

    Raises:
        builders.release.ReleaseError, builders.hub.HubError: If the Hub refuses or fails. Nothing is half there: either
            the tag names the whole release, or there is no tag and the same command goes on.
    """
    if plan.published:
        return f"{plan.repo} has {plan.tag} with this very content; nothing was changed"
    there = plan.there
    if there is None or private or gated:
        hub.create(plan.repo, private=private, gated=gated)
        there = hub.look(plan.repo)
    if there is None:
        raise hub.HubError(f"{plan.repo} was made, but the Hub does not show it yet; run the same command again")
    if create_pr:
        return _propose(plan, there)
    commit = _commit(plan, there)
    try:
        hub.tag(plan.repo, plan.tag, commit)
    except hub.HubError:
        # Somebody else's tag, or our own whose answer was lost: what it names tells.
        named = (hub.look(plan.repo) or there).tags.get(plan.tag)
        if named is None or not _holds(plan, named):
            raise
    return f"published {plan.repo} at {plan.tag}, commit {commit}"


def _commit(plan: Plan, there: hub.Repository) -> str:
    if _holds(plan, there.main):
        return there.main  # an earlier run came this far
    try:
        done = hub.commit_files(
            plan.repo,
            plan.files,
            message=_title(plan),
            parent=there.main,
            remove=_extra(plan, hub.blobs(plan.repo, there.main)),
        )
    except hub.HubError:
        # The answer may have been lost, not the commit.
        now = hub.look(plan.repo)
        if now is None or now.main == there.main or not _holds(plan, now.main):
            raise
        return now.main
    return done.commit


def _propose(plan: Plan, there: hub.Repository) -> str:
    merge = f"when it is merged, run the same command without --create-pr to set {plan.tag}"
    for number, commit in sorted(there.pulls.items()):
        if _holds(plan, commit):
            return f"{plan.repo} has pull request {number} with this content; {merge}"
    done = hub.commit_files(
        plan.repo,
        plan.files,
        message=_title(plan),
        parent=there.main,
        remove=_extra(plan, hub.blobs(plan.repo, there.main)),
        create_pr=True,
    )
    return f"proposed {done.url}; {merge}"


def _holds(plan: Plan, commit: str) -> bool:
    held = hub.blobs(plan.repo, commit)
    equal = all(hub.same_blob(held.get(path), data) for path, data in plan.files.items())
    return equal and not _extra(plan, held)


def _extra(plan: Plan, held: Mapping[str, str]) -> list[str]:
    """Files of an older release, or of an attempt that was never tagged; what else lies there is not ours."""
    ours = {*plan.changes, "eval.yaml"}
    return sorted(p for p in held if p not in plan.files and (p in plan.stale or p.partition("/")[0] in ours))


def _title(plan: Plan) -> str:
    return f"Release {plan.version}"


def _read_tag(repo: str, tag: str) -> Published:
    try:
        return read_release(repo, tag)
    except SplitError as error:
        raise SplitError(
            f"{error}. The tag was moved or what it names was changed; published versions do not change"
        ) from error


def _changes(old: Published | None, packed: Mapping[str, Packed]) -> dict[str, Change]:
    before = old.splits if old else {}
    found = {split: compare(before.get(split), p.fingerprint) for split, p in packed.items()}
    return found | {split: Change("major", ("split removed",)) for split in before.keys() - packed.keys()}


def _adopt(packed: Packed, split: str, *published: Published | None) -> Packed:
    """Take over the published bytes of Parquet files with equal rows: another library version may write others."""
    mine = packed.manifest
    files = dict(packed.files)
    for release in filter(None, published):
        theirs = release.splits.get(split)
        if theirs is None or theirs.form != packed.form or theirs.manifest.canary != mine.canary:
            continue
        equal = {
            "items.parquet": theirs.manifest.sha256 == mine.sha256,
            "ids.parquet": theirs.manifest.sha256 == mine.sha256,
            "gold.parquet": theirs.manifest.gold_sha256 == mine.gold_sha256,
        }
        for name in files:
            if equal.get(name) and f"{split}/{name}" in release.files:
                files[name] = release.files[f"{split}/{name}"]
        break
    return packed._replace(files=files)


def check_equal(files: Mapping[str, bytes], held: Mapping[str, str], repo: str, version: str) -> None:
    """Refuse to take a version for published that holds something else.

    Raises:
        VersionError: If a file differs from what the tag names.
    """
    other = sorted(path for path, data in files.items() if not hub.same_blob(held.get(path), data))
    if other:
        shown = ", ".join(other[:5]) + (" and more" if len(other) > 5 else "")
        raise VersionError(
            f"{repo} has v{version} with other content ({shown}): published versions do not change, give a higher "
            "--version; or, if what you built is the right one, the tag was moved: ask who did"
        )


def _is_version(tag: str) -> bool:
    try:
        return tag.startswith("v") and bool(numbers(tag[1:]))
    except VersionError:
        return False


def _pretty(value: Value) -> bytes:
    return (json.dumps(value.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n").encode()


def describe(plan: Plan) -> Sequence[str]:
    """Lines that say what a plan would do."""
    if plan.published:
        return [f"{plan.repo} has {plan.tag} with this very content"]
    where = "a new repository" if plan.there is None else f"after v{plan.base}" if plan.base else "its first version"
    lines = [f"{plan.repo} {plan.tag}: {where}"]
    lines += [f"  {split}: {line}" for split, change in plan.changes.items() for line in change.lines]
    lines += [f"  writes {path} ({len(data):,} bytes)" for path, data in sorted(plan.files.items())]
    return lines + [f"  removes {path}" for path in plan.stale]
