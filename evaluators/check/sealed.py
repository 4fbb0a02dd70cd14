"""The check of a bundle of a sealed run: numbers of the whole run in clear, evidence as ciphertext.

Without a key it proves that the files are whole and agree with each other; with one the numbers are worked out again.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from evaluators.check import Checked
from evaluators.check.findings import Findings

if TYPE_CHECKING:
    from builders.values import SplitManifest
    from evaluators.sealed_bundle import SealedBundle
    from evaluators.values import Estimate

DESCRIPTION = "submission.yaml"
REPACK = "take the bundle as the run wrote it"


def check_sealed_bundle(folder: Path, *, splits: Path, proof: bool = False) -> Checked:
    """Check the bundle of a sealed run; all findings at once, and none that quotes what is encrypted.

    Args:
        folder: submission.yaml, aggregates.jsonl and the two ciphertexts.
        splits: Where the sealed split is, or its manifest alone.
        proof: Refuse numbers that could not be worked out again, for want of a key or of the split.

    Raises:
        VaultError: If the environment gives something that is no identity.
        SplitError: If the split there is damaged.
    """
    from evaluators.bundle import BundleError
    from evaluators.check.words import check_words
    from evaluators.sealed_bundle import read_sealed_bundle

    found = Findings()
    try:
        bundle = read_sealed_bundle(folder)
    except (BundleError, OSError) as error:
        found.refuse("sealed", str(folder), str(error), REPACK)
        return Checked(None, found)
    where = str(folder / DESCRIPTION)
    check_words(bundle.submission, lambda _: where, found)
    manifest = _manifest(bundle, splits)
    _check_manifest(bundle, manifest, where, found)
    _check_numbers(bundle, str(folder / "aggregates.jsonl"), found)
    if not found.refused and manifest is not None:
        _work_out(folder, bundle, manifest, splits=splits, proof=proof, found=found)
    return Checked(bundle.submission, found)


def _manifest(bundle: "SealedBundle", splits: Path) -> "SplitManifest | None":
    from builders.splits import list_built

    return next((m for m in list_built(splits) if m.ref == bundle.submission.ref), None)


def _check_manifest(bundle: "SealedBundle", m: "SplitManifest | None", where: str, found: Findings) -> None:
    s = bundle.submission
    if m is None or not m.sealed:
        found.refuse("split", where, f"there is no sealed split {s.ref} here", "fetch its manifest, or give --splits")
        return
    if (s.split_sha256, s.benchmark, s.protocol) != (m.sha256, m.benchmark, m.protocol):
        problem = f"digest, benchmark or protocol are not those of {m.ref} ({m.sha256[:12]}...)"
        found.refuse("split", where, problem, "run on the split as it is sealed now")
    if s.counts.expected > m.items * s.epochs or s.counts.expected % s.epochs:
        problem = f"counts.expected is {s.counts.expected}; there are {m.items} items and {s.epochs} epochs"
        found.refuse("counts", where, problem, REPACK)
    if s.kind != "model" or s.evidence != "run":
        found.refuse("kind", where, "is no run of a model", "only a model that was run is scored on sealed items")


def _check_numbers(bundle: "SealedBundle", where: str, found: Findings) -> None:
    from evaluators.scores import COMPOSITES, FULL_MARKS, METRICS

    s = bundle.submission
    composite = COMPOSITES.get(s.protocol)
    known = {*METRICS.get(s.protocol, ()), *([composite[0]] if composite else [])}
    about = (s.benchmark, s.condition, s.model.name, s.model.provider, s.jury)
    if s.counts.scored and not bundle.estimates:
        found.refuse("aggregates", where, "holds no number", REPACK)
    for number, e in enumerate(bundle.estimates, start=1):
        line = f"{where}:{number}"
        if (e.benchmark, e.condition, e.model, e.provider, e.jury) != about:
            found.refuse("mixed", line, "is not about the model, condition and jury of submission.yaml", REPACK)
        if e.metric not in known:
            found.refuse("aggregates", line, f"metric {e.metric[:40]!r} is none of a whole run", REPACK)
        inside = 0 <= e.low <= e.value <= e.high <= FULL_MARKS.get(s.protocol, 1.0)
        if not inside or e.n > s.counts.expected or e.best_rank is not None or e.n_human or e.n_pool:
            found.refuse("aggregates", line, "a number that no such run can have", REPACK)


def _work_out(
    folder: Path, bundle: "SealedBundle", m: "SplitManifest", *, splits: Path, proof: bool, found: Findings
) -> None:
    from builders import vault
    from builders.splits import load_split
    from evaluators.bundle import BundleError
    from evaluators.sealed_bundle import open_bundle
    from evaluators.sealing import SealedRunError, aggregates, discreet

    where = str(folder / "aggregates.jsonl")
    if not vault.own_recipients() & set(m.sealed_for):
        say = found.refuse if proof else found.report
        say("aggregates", where, "stated, not worked out again: no identity of the split is here", "hold its key")
        return
    problem: str | None = None
    again: tuple[Estimate, ...] = ()
    try:
        with discreet(m):
            try:
                evidence = open_bundle(folder)
                again = aggregates(load_split(m.ref, root=splits, sealed=True), evidence)
            except BundleError as error:  # says which file, and quotes none of its rows
                problem = str(error)
    except SealedRunError:  # anyone can encrypt for the split's keys whatever he likes
        problem = "the evidence was opened, and no numbers come of it"
    if problem is not None:
        found.refuse("sealed", str(folder), problem, REPACK)
        return
    if again != tuple(e.model_copy(update={"best_rank": None, "worst_rank": None}) for e in bundle.estimates):
        found.refuse("aggregates", where, "the evidence comes to other numbers than these", REPACK)
