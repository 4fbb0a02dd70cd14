"""The jury: who sits for a model, and the verdicts on its answers."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path

import yaml
from pydantic import ValidationError

from builders.values import Item
from evaluators.models import provider_of, public
from evaluators.protocols import Marking
from evaluators.run import Outcome, run_attempts
from evaluators.runner import Runner
from evaluators.values import Decoding, Model, Panel, Seat, Transcript, Verdict

HOME = Path(__file__).parent / "juries"


class JuryError(ValueError):
    """A panel cannot be read or cannot seat three judges."""


def known_panels() -> tuple[str, ...]:
    """Names of the panels that come with the project."""
    return tuple(sorted(p.stem for p in HOME.glob("*.yaml")))


def load_panel(name: str) -> Panel:
    """Read a panel by its name, or from a YAML file of the same form.

    Raises:
        JuryError: If there is no such panel or its file is not a panel.
    """
    path = HOME / f"{name}.yaml" if name in known_panels() else Path(name)
    if path.suffix not in {".yaml", ".yml"} or not path.is_file():
        raise JuryError(f"no jury {name!r}; known are {', '.join(known_panels())}, or give the path of a YAML file")
    try:
        return Panel.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise JuryError(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise JuryError(
            f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; see evaluators/juries/layton.yaml"
        ) from None


def raised(panel: Panel, taken: Collection[str]) -> Panel:
    """The same judges under the next free name: `layton` becomes `layton-2`, and that `layton-3`.

    Args:
        panel: A panel whose judges have moved.
        taken: Names that are, or were, other panels'.
    """
    stem, _, number = panel.name.rpartition("-")
    root, first = (stem, int(number) + 1) if stem and number.isdecimal() else (panel.name, 2)
    name = next(name for n in count(first) if (name := f"{root}-{n}") not in taken)
    return panel.model_copy(update={"name": name})


def write_panel(panel: Panel, path: Path) -> None:
    """Write a panel as a file that `load_panel` reads.

    Raises:
        JuryError: If there is such a file already: a panel never changes under its name.
        OSError: If it cannot be written.
    """
    text = yaml.safe_dump(panel.model_dump(mode="json", exclude_defaults=True), sort_keys=False, allow_unicode=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise JuryError(f"{path} is there already; a panel does not change under its name") from None


def choose_panel(*, judges: str | None, jury: str, api_base: str | None) -> Panel:
    """Take the panel that the command line asks for: judges named one by one, or a panel by name or file.

    Raises:
        JuryError: If it cannot be read or seated.
    """
    return panel_of(judges, api_base=api_base) if judges else at_endpoint(load_panel(jury), api_base)


def panel_of(names: str, *, api_base: str | None = None) -> Panel:
    """Seat an ad-hoc panel: `[PROVIDER:]MODEL,...`; the first three sit, the rest are reserves in their order.

    The panel is named by its members, so that scores of different juries are never ranked together.

    Raises:
        JuryError: If there are fewer than three, or a judge's maker is not said and cannot be read off its name.
    """
    seats: list[Seat] = []
    for n, text in enumerate(part.strip() for part in names.split(",") if part.strip()):
        provider, model = split_provider(text)
        if provider is None:
            raise JuryError(f"judge {text!r}: say who made it, as PROVIDER:{model}")
        judge = model if all(s.judge != model for s in seats) else f"{model}#{n + 1}"
        # Seats of one model differ in seed, or they would be one judge with three votes.
        seed = n + 1 if any(s.model.name == model for s in seats) else None
        try:
            made = Model(name=model, provider=provider, api_base=api_base, decoding=Decoding(seed=seed))
        except ValidationError as error:
            first = error.errors()[0]
            raise JuryError(f"judge {text!r}: {first['loc'][0]}: {first['msg']}") from None
        seats.append(Seat(judge=judge, model=made, reserve=n >= 3))
    if len(seats) < 3:
        raise JuryError(f"a jury has three judges, --judges names {len(seats)}: {names!r}")
    named = Panel(name="custom", title=", ".join(s.judge for s in seats), seats=tuple(seats))
    digest = sha256(public_panel(named).model_dump_json().encode()).hexdigest()[:8]
    return named.model_copy(update={"name": f"custom-{digest}"})


def panel_that_sat(panel: Panel, seats: tuple[Seat, ...], judges: set[str]) -> Panel:
    """The panel whose name brought verdicts may carry: this one if its judges sat, else one named by those who did."""
    if judges <= {seat.judge for seat in seats}:
        return panel
    digest = sha256("\n".join(sorted(judges)).encode()).hexdigest()[:8]
    return panel.model_copy(update={"name": f"custom-{digest}", "title": ", ".join(sorted(judges))})


def public_panel(panel: Panel) -> Panel:
    """The panel as others may know it, without endpoints on this machine."""
    return panel.model_copy(
        update={"seats": tuple(s.model_copy(update={"model": public(s.model)}) for s in panel.seats)}
    )


def at_endpoint(panel: Panel, api_base: str | None) -> Panel:
    """The panel with all its judges at one endpoint; None: as it is."""
    if api_base is None:
        return panel
    moved = (s.model_copy(update={"model": s.model.model_copy(update={"api_base": api_base})}) for s in panel.seats)
    return panel.model_copy(update={"seats": tuple(moved)})


def split_provider(text: str) -> tuple[str | None, str]:
    """Split `PROVIDER:provider/model`; without a prefix the maker of a first-party name, else None.

    A colon further back belongs to the model (`openrouter/x/y:free`).
    """
    head, colon, tail = text.partition(":")
    if colon and "/" not in head and "/" in tail:
        return head, tail
    return provider_of(text), text


def seats_for(panel: Panel, provider: str) -> tuple[Seat, ...]:
    """Seat exactly three judges for a model of `provider`, none of them of that provider, reserves in their order.

    A panel that is a single grader seats that one.

    Raises:
        JuryError: If fewer are left.
    """
    eligible = [s for s in panel.seats if not panel.excludes_own_provider or s.model.provider != provider]
    seated = sorted(eligible, key=lambda s: s.reserve)[: panel.sitting]  # stable
    if len(seated) < panel.sitting:
        raise JuryError(
            f"jury {panel.name!r} seats {len(seated)} judges for a model of provider {provider!r}, it needs "
            f"{panel.sitting}: "
            "a judge does not mark its own maker's models; name a reserve of another maker"
        )
    return tuple(seated)


async def deliberate(
    item: Item, transcript: Transcript, runner: Runner, *, seats: tuple[Seat, ...], how: Marking
) -> tuple[Verdict, ...]:
    """Collect the verdicts on one attempt of any protocol.

    Args:
        item: What was attempted.
        transcript: The attempt.
        runner: Makes the calls.
        seats: The judges.
        how: How the protocol's attempts are marked.

    Returns:
        Those of the jury; one by rule where the model gave no answer; none where the call failed; and with them those
        that the protocol gives by rule alone.
    """
    return (*await _sit(item, transcript, runner, seats, how), *how.by_rule(item, transcript))


async def _sit(
    item: Item, transcript: Transcript, runner: Runner, seats: tuple[Seat, ...], how: Marking
) -> tuple[Verdict, ...]:
    if transcript.no_answer:
        return (how.no_answer(transcript),)
    if transcript.failure is not None:
        return ()
    async with asyncio.TaskGroup() as group:
        votes = [
            group.create_task(how.mark(item, transcript, runner.complete(seat.model, epoch=transcript.epoch), seat))
            for seat in seats
        ]
    return tuple(verdict for vote in votes for verdict in vote.result())


async def judge_all(
    transcripts: Sequence[Transcript],
    items: Mapping[str, Item],
    runner: Runner,
    *,
    seats: tuple[Seat, ...],
    how: Marking,
    sealed: bool,
    on_done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Let a jury mark attempts that are there already; the arguments are those of `deliberate` and `run_attempts`."""
    attempts = {(t.item_id, t.epoch): t for t in transcripts}

    async def made(item: Item, epoch: int) -> Transcript:
        return attempts[item.id, epoch]

    async def judge(item: Item, transcript: Transcript) -> tuple[Verdict, ...]:
        return await deliberate(item, transcript, runner, seats=seats, how=how)

    todo = [(items[t.item_id], t.epoch) for t in transcripts]
    return await run_attempts(todo, solve=made, judge=judge, workers=runner.concurrency, sealed=sealed, on_done=on_done)
