"""Where the calls of a run are made: in this process, in several on this machine, or on a Ray cluster.

Workers only fill journals. The run itself then goes over the merged journal in one process, as ever, so that its bundle
is the same, byte for byte, wherever its calls were made.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from builders.values import Item

if TYPE_CHECKING:
    from evaluators.session import Session


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


def many(options: object) -> bool:
    """Whether a run asks for more than this process."""
    return getattr(options, "engine", None) == "ray" or (getattr(options, "processes", None) or 1) > 1


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
