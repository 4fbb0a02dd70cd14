"""Fuzz target of the bundle check, for atheris: python tests/fuzz_check.py -runs=20000 (pip install atheris)

Bytes in, findings out: any exception, any unreadable finding and any check over 5 s is a fault. It also runs without
atheris, on seeds: `fuzz(data)` is what tests call.
"""

import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def fuzz(data: bytes) -> None:
    """Take the bytes for one of the three files, unpacked or packed, and check the bundle."""
    import zstandard

    from evaluators.bundle import TRANSCRIPTS, VERDICTS
    from evaluators.check import check_bundle

    kind, body = (data[0] % 5, data[1:]) if data else (0, b"")
    files = {
        "submission.yaml": body if kind == 0 else DESCRIPTION,
        TRANSCRIPTS: zstandard.compress(body) if kind == 1 else body if kind == 2 else zstandard.compress(b"{}\n"),
        VERDICTS: zstandard.compress(body) if kind == 3 else body if kind == 4 else zstandard.compress(b"{}\n"),
    }
    for mark, name in ((b"@T", TRANSCRIPTS), (b"@V", VERDICTS)):
        digest = sha256(files[name]).hexdigest().encode()
        files["submission.yaml"] = files["submission.yaml"].replace(mark, digest)
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in files.items():
            (Path(scratch) / name).write_bytes(content)
        began = time.monotonic()
        findings = list(check_bundle(Path(scratch), splits=Path("no-splits")).findings)
        if time.monotonic() - began > 5 or not all(str(f).isprintable() for f in findings):
            raise AssertionError("too slow, or a finding that a terminal could take for a command")


DESCRIPTION = b"""submission_id: a-1
benchmark: samples
split: sample-llm
version: 1.0.0
split_sha256: dd830c013ba0f26b698dddd163ef82949f1e2515593dc6995f5d5b877ac7f971
protocol: riddle
condition: hints=0
model: {name: a/b, provider: a}
jury: custom-x
judges: [x, y, z]
date: '2026-11-01'
counts: {expected: 24, scored: 0, no_answer: 0, unjudged: 0, failed: 0, missing: 24}
files:
- {name: transcripts.jsonl.zst, sha256: @T, rows: 1}
- {name: verdicts.jsonl.zst, sha256: @V, rows: 1}
"""


def main() -> None:
    """Run atheris with the options of the command line."""
    import atheris

    with atheris.instrument_imports(include=["builders", "evaluators", "yaml"]):
        import evaluators.check  # noqa: F401 - imported here so that atheris sees its branches
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
