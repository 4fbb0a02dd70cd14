"""What a person reads about a run: one set of tables, as text, as Markdown and as a page."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

from evaluators.record import RunRecord, RunSession
from evaluators.tally import ModelUse

State = Literal["running", "finished", "stopped", "killed", "bundle gone"]
MEANING: dict[State, str] = {
    "running": "running",
    "finished": "finished, its bundle is written",
    "stopped": "stopped; `python -m evaluators.runs resume` goes on",
    "killed": "killed; `python -m evaluators.runs resume` goes on",
    "bundle gone": "finished, but its bundle is gone; `python -m evaluators.runs resume` writes it again",
}

CAUSE: dict[str, str] = {
    "rate_limited": "the service asked to slow down (429)",
    "service": "no connection, an error of the service (5xx), or a reply that is none",
    "timeout": "no whole reply in time",
    "refused": "the model or its provider declined to answer",
    "too_long": "the prompt does not fit the model",
    "rejected": "the service takes no such request (4xx)",
    "unparsed": "the reply could not be read",
    "responder": "the other model of a game gave no usable reply",
}


class Section(NamedTuple):
    """A table of a report; columns named in `right` hold numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()


def overview(runs: Sequence[tuple[RunRecord, State]], *, now: datetime) -> str:
    """One line a run."""
    rows = []
    for record, state in runs:
        uses = [use for session in record.sessions for use in session.models]
        last = record.sessions[-1].began if record.sessions else now
        calls, failed = sum(u.calls for u in uses), sum(sum(u.failed.values()) for u in uses)
        rows.append(
            (record.submission_id, record.split, state, f"{calls:,}", f"{failed:,}", _usd(uses), _span(now - last))
        )
    head = ("run", "split", "state", "calls", "failed", "USD", "begun, ago")
    return _text(Section("", head, tuple(rows), frozenset({3, 4, 5, 6})))


def sections(record: RunRecord, state: State) -> tuple[Section, ...]:
    """The tables of one run."""
    about = (
        ("state", MEANING[state]),
        ("model", record.model),
        ("split", record.split),
        ("attempts", f"{record.expected:,} to make"),
        *_so_far(record),
        ("command", " ".join(("python -m evaluators.submit", *record.argv))),
        ("given in", record.folder),
        ("bundle", record.bundle),
        *((f"sha256 of inputs, {n}", digest) for n, digest in enumerate(record.digests, start=1)),
    )
    made = [Section("What and where", ("what", "value"), about), _models(record), _troubles(record), _sessions(record)]
    if record.sessions:
        made.append(_environment(record.sessions[-1]))
    made.append(Section("Parameters", ("option", "value"), tuple(record.parameters.items())))
    return tuple(section for section in made if section.rows)


def _so_far(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """What all sessions did together."""
    uses = [u for s in record.sessions for u in s.models]
    if not uses:
        return ()
    repeated, failed = (sum(sum(getattr(u, part).values()) for u in uses) for part in ("retries", "failed"))
    at_work = sum((s.ended - s.began for s in record.sessions if s.ended), timedelta())
    calls = f"{sum(u.calls for u in uses):,} made, {failed:,} of them without a usable reply"
    return (
        ("calls", f"{calls}; {repeated:,} attempts were repeated"),
        ("USD", _usd(uses)),
        ("time at work", f"{_span(at_work)}, sessions: {len(record.sessions):,}"),
    )


def _models(record: RunRecord) -> Section:
    rows = []
    names = dict.fromkeys(u.model for s in record.sessions for u in s.models)
    for name in sorted(names, key=lambda name: (name != record.model, name)):
        uses = [u for s in record.sessions for u in s.models if u.model == name]
        timed = [u for u in uses if u.p50_seconds is not None]
        numbers = [sum(getattr(u, part) for u in uses) for part in _COUNTED]
        times = [f"{timed[-1].p50_seconds:.2f}", f"{timed[-1].p95_seconds:.2f}"] if timed else ["", ""]
        said = ", ".join(sorted({s for u in uses for s in u.snapshots}))
        rows.append((name, *(f"{n:,}" for n in numbers), _usd(uses), *times, said))
    head = (
        "model",
        "calls",
        "from journal",
        "input tokens",
        "of them cached",
        "output tokens",
        "USD",
        "p50 s",
        "p95 s",
    )
    return Section(
        "Models (p50 and p95: a call of the last session)", (*head, "answered as"), tuple(rows), frozenset(range(1, 9))
    )


_COUNTED = ("calls", "journalled", "input_tokens", "cached_tokens", "output_tokens")


def _troubles(record: RunRecord) -> Section:
    retries: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    for use in (u for s in record.sessions for u in s.models):
        retries.update({(use.model, cause): n for cause, n in use.retries.items()})
        failed.update({(use.model, cause): n for cause, n in use.failed.items()})
    keys = sorted({*retries, *failed}, key=lambda key: (key[0] != record.model, *key))
    rows = tuple((*key, f"{retries[key]:,}", f"{failed[key]:,}", CAUSE.get(key[1], "")) for key in keys)
    head = ("model", "cause", "attempts repeated", "calls without a usable reply", "that is")
    if not rows and any(s.models for s in record.sessions):
        rows = (("all", "none", "0", "0", "every call was answered at once"),)
    return Section("Failures by cause", head, rows, frozenset({2, 3}))


def _sessions(record: RunRecord) -> Section:
    rows = []
    for session in record.sessions:
        took = _span(session.ended - session.began) if session.ended else ""
        why = f"{session.state}: {session.why}" if session.why else session.state
        calls = sum(u.calls for u in session.models)
        rows.append(
            (f"{session.began:%Y-%m-%d %H:%M:%S} UTC", took, f"{calls:,}", why, _short(session.environment.commit))
        )
    return Section("Sessions", ("begun", "took", "calls", "how it ended", "commit"), tuple(rows), frozenset({1, 2}))


def _short(commit: str | None) -> str:
    """As git shows it, with what follows the digest."""
    digest, plus, changes = (commit or "").partition("+")
    return digest[:12] + plus + changes


def _environment(session: RunSession) -> Section:
    e = session.environment
    rows = (("python", e.python), ("platform", e.platform), ("cpus", str(e.cpus)), *e.packages.items())
    return Section("Environment of the last session", ("what", "version"), rows)


def _usd(uses: Sequence[ModelUse]) -> str:
    known, unpriced = sum(u.cost_usd for u in uses), sum(u.unpriced for u in uses)
    if unpriced and not known:
        return "unknown"
    return f"{known:.4f}" + (f" + {unpriced:,} calls of unknown price" if unpriced else "")


def _span(time: timedelta) -> str:
    seconds = max(0.0, time.total_seconds())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _text(section: Section) -> str:
    rows = [tuple(" ".join(cell.split()) for cell in row) for row in (section.head, *section.rows)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(section.head))]
    lines = [
        "  ".join(
            cell.rjust(w) if n in section.right else cell.ljust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in lines)


def text(name: str, parts: Sequence[Section]) -> str:
    """The report for a terminal."""
    tables = (f"{section.title}\n{_text(section)}" for section in parts)
    return "\n\n".join([f"Run {name}", *tables]) + "\n"


def markdown(name: str, parts: Sequence[Section]) -> str:
    """The report as Markdown that reads well as it is, too."""
    lines = [f"# Run {name}"]
    for section in parts:
        rows = [[_cell(c) for c in row] for row in (section.head, *section.rows)]
        widths = [max(3, *(min(40, len(row[n])) for row in rows)) for n in range(len(section.head))]
        rule = ["-" * (w - 1) + ":" if n in section.right else "-" * w for n, w in enumerate(widths)]
        table = [_line(row, widths, section.right) for row in (rows[0], rule, *rows[1:])]
        lines += ["", f"## {section.title}", "", *table]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _line(row: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    cells = (c.rjust(w) if n in right else c.ljust(w) for n, (c, w) in enumerate(zip(row, widths, strict=True)))
    return f"| {' | '.join(cells)} |"


def html(name: str, parts: Sequence[Section]) -> str:
    """The report as one page that needs nothing else."""
    style = Path(__file__).with_name("run_report.css").read_text(encoding="utf-8")
    body = []
    for section in parts:
        marks = ['class="number"' if n in section.right else "" for n in range(len(section.head))]
        head = "".join(f'<th scope="col" {m}>{escape(c)}</th>' for c, m in zip(section.head, marks, strict=True))
        rows = "".join(
            "<tr>" + "".join(f"<td {m}>{escape(c)}</td>" for c, m in zip(row, marks, strict=True)) + "</tr>\n"
            for row in section.rows
        )
        body.append(
            f'<h2>{escape(section.title)}</h2>\n<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{rows}</tbody></table></div>"
        )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Run {escape(name)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>Run {escape(name)}</h1>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )
