"""Where the calls of a run are made: in this process, in several on this machine, or on a Ray cluster.

Workers only fill journals. The run itself then goes over the merged journal in one process, as ever, so that its bundle
is the same, byte for byte, wherever its calls were made.
"""

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol, runtime_checkable

from builders.values import Item, SplitManifest
from evaluators.values import Model

if TYPE_CHECKING:
    from evaluators.session import Session

# Protocols whose next question depends on the last reply.
INTERACTIVE = frozenset({"soup", "case"})


@runtime_checkable
class Divisible(Protocol):
    """A play whose items can be shared out."""

    @property
    def items(self) -> Sequence[Item]:
        """What is played."""

    def only(self, ids: frozenset[str]) -> None:
        """Leave only these items to do: the share of one worker. The name of the submission stays that of the whole."""


class WorkerLostError(RuntimeError):
    """Workers were lost again and again; what they finished is kept."""


def many(options: Namespace) -> bool:
    """Whether a run asks for more than this process."""
    return options.engine == "ray" or (options.processes or 1) > 1


def refuse_unfit(options: Namespace, manifest: SplitManifest, refuse: Callable[[str], NoReturn]) -> None:
    """Refuse what workers or batches cannot do, before anything is sent."""
    if not many(options) and not options.batch:
        return
    if many(options) and options.batch:
        refuse("--batch needs no workers: the provider makes the calls; leave out --processes and --engine")
    here = "leave out --processes, --engine and --batch"
    if options.player == "human":
        refuse(f"--player human plays at this terminal: {here}")
    if manifest.sealed:
        refuse(f"{manifest.ref} is sealed: its items stay in this process; {here}")
    if options.batch and manifest.protocol in INTERACTIVE and not options.predictions:
        refuse("--batch answers within a day, and this protocol asks in turns; leave it out, or bring --predictions")
    # What nobody may find again would be paid for twice, and a batch is paid for as a whole.
    counted = ["no_cache", *(("max_cost", "max_seconds") if options.batch else ())]
    if given := [name for name in counted if getattr(options, name)]:
        refuse(f"--{given[0].replace('_', '-')} counts calls made one by one in this process; leave it out, or {here}")


def unbatched(models: Iterable[Model]) -> dict[str, str]:
    """Names of the models whose calls go into no batch, each with the reason."""
    from evaluators.engines.batch_api import batched, why_not

    return {model.name: why_not(model) for model in models if not batched(model)}


def fill(session: "Session") -> None:
    """Make the calls of a run with several workers, and merge their journals into its own.

    Raises:
        WorkerLostError: If a share of the run was lost too often.
        ServiceDownError, ServiceRefusedError, ModelError, JournalError: As a worker met it.
    """
    from evaluators.engines.shares import deal_out
    from evaluators.journals import merge

    options = session.options
    if options.engine == "ray":
        from evaluators.engines.cluster import Cluster

        with Cluster(options.processes) as cluster:
            cluster.run(deal_out(session, workers=cluster.workers, shares_each=4), session)
    else:
        from evaluators.engines.processes import run_processes

        run_processes(deal_out(session, workers=options.processes, shares_each=1), session)
    merge(session.folder, skip_busy=True)
