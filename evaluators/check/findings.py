"""Findings: what is wrong with a bundle, where, and what to do about it."""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

# One fault repeated on every line is told a few times and then counted.
MOST_OF_A_KIND = 5
LONGEST = 300
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


Severity = Literal["refused", "reported"]


class Finding(NamedTuple):
    """One fault; `refused` stops the submission, `reported` is for a person to read."""

    severity: Severity
    kind: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """One line that cannot steer a terminal or a log, whatever the bundle holds."""
        return visible(f"{self.severity}: {self.where}: {self.problem}; {self.remedy} [{self.kind}]", 2 * LONGEST)


class Findings:
    """The findings of one check, in the order in which they were made."""

    def __init__(self) -> None:
        self._kept: list[Finding] = []
        self._counts: Counter[tuple[Severity, str, str]] = Counter()

    def refuse(self, kind: str, where: str, problem: str, remedy: str) -> None:
        """Add a fault that stops the submission."""
        self._add(Finding("refused", kind, where, visible(problem, LONGEST), remedy))

    def report(self, kind: str, where: str, problem: str, remedy: str) -> None:
        """Add something a maintainer should look at."""
        self._add(Finding("reported", kind, where, visible(problem, LONGEST), remedy))

    def _add(self, finding: Finding) -> None:
        file, colon, line = finding.where.rpartition(":")
        key = (finding.severity, finding.kind, file if colon and line.isdigit() else finding.where)
        self._counts[key] += 1
        if self._counts[key] <= MOST_OF_A_KIND:
            self._kept.append(finding)

    def __iter__(self) -> Iterator[Finding]:
        """The findings, with one more where a kind was met too often to be told each time."""
        more = [
            Finding(severity, kind, where, f"{n - MOST_OF_A_KIND} more of this kind", "mend them alike")
            for (severity, kind, where), n in self._counts.items()
            if n > MOST_OF_A_KIND
        ]
        return iter([*self._kept, *more])

    def below(self, folder: str) -> None:
        """Name places as seen from `folder`: a path of a job's own disk says nothing to a submitter."""
        prefix = f"{folder}/"
        self._kept = [f._replace(where=f.where.removeprefix(prefix)) for f in self._kept]
        self._counts = Counter({(s, k, w.removeprefix(prefix)): n for (s, k, w), n in self._counts.items()})

    def spoiled(self, path: str) -> bool:
        """Whether anything in a file is refused: what rests on the file is then not worth telling."""
        return any(f.severity == "refused" and f.where.startswith(path) for f in self._kept)

    @property
    def refused(self) -> tuple[Finding, ...]:
        """Those that stop the submission."""
        return tuple(f for f in self if f.severity == "refused")

    @property
    def reported(self) -> tuple[Finding, ...]:
        """Those that are only reported."""
        return tuple(f for f in self if f.severity == "reported")


def visible(text: str, limit: int) -> str:
    """Spell out what cannot be seen or turns text around, line ends included, and cut to `limit` characters."""
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _HIDDEN else c for c in text)
