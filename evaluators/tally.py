"""What a run has done so far: by model, in numbers that a person is shown and the run's record keeps."""

from array import array
from collections import Counter
from dataclasses import dataclass, field

from pydantic import Field

from builders.values import Value
from evaluators.values import Reply


class ModelUse(Value):
    """What one model was asked in one session of a run."""

    model: str
    calls: int = Field(ge=0, description="Made in this session.")
    journalled: int = Field(ge=0, description="Replies taken from the journal.")
    input_tokens: int = Field(ge=0, description="Of the calls made, as far as the provider said.")
    output_tokens: int = Field(ge=0)
    cached_tokens: int = Field(ge=0, description="Part of input_tokens.")
    cost_usd: float = Field(ge=0, description="Of the calls made whose price is known.")
    unpriced: int = Field(ge=0, description="Calls made whose price is unknown.")
    retries: dict[str, int] = Field(description="Attempts beyond the first, by what went wrong.")
    failed: dict[str, int] = Field(description="Calls without a usable reply, by cause.")
    p50_seconds: float | None = Field(None, ge=0, description="Median duration of the attempts that counted.")
    p95_seconds: float | None = Field(None, ge=0)
    snapshots: tuple[str, ...] = Field((), description="Model names that the provider reported.")


@dataclass
class _Model:
    calls: int = 0
    journalled: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    seconds: "array[float]" = field(default_factory=lambda: array("f"))
    snapshots: set[str] = field(default_factory=set)


@dataclass
class Tally:
    """What a run has done so far; written by the runner, read by the progress display.

    Attributes:
        most_usd: Cap on what the replies in the journal may cost together; None: none.
        paid_before_usd: What those cost that were there before this session.
    """

    calls: int = 0
    journalled: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    cost_usd: float = 0.0
    unpriced: int = 0
    most_usd: float | None = None
    paid_before_usd: float = 0.0
    _models: dict[str, _Model] = field(default_factory=dict)

    def count(self, reply: Reply, *, journalled: bool, model: str = "") -> None:
        """Add a finished call."""
        one = self._model(model)
        for part in (self, one):
            part.calls += not journalled
            part.journalled += journalled
            if reply.failure is not None:
                part.failed[reply.failure] += 1
            if not journalled:
                part.cost_usd += reply.cost_usd or 0.0
                part.unpriced += reply.cost_usd is None and reply.text is not None
        if reply.snapshot:
            one.snapshots.add(reply.snapshot)
        if not journalled:
            one.input_tokens += reply.usage.input_tokens or 0
            one.output_tokens += reply.usage.output_tokens or 0
            one.cached_tokens += reply.usage.cached_tokens or 0
            one.seconds.append(reply.seconds)

    def retried(self, model: str, failure: str) -> None:
        """Add an attempt that has to be made again."""
        self.retries[failure] += 1
        self._model(model).retries[failure] += 1

    def snapshots(self, model: str) -> tuple[str, ...]:
        """Names under which the provider of a model answered, journalled replies included; sorted."""
        return tuple(sorted(self._model(model).snapshots))

    def by_model(self) -> tuple[ModelUse, ...]:
        """The same by model, in the order of their first calls."""
        return tuple(_use(name, one) for name, one in self._models.items())

    def _model(self, name: str) -> _Model:
        return self._models.setdefault(name, _Model())


def _use(name: str, one: _Model) -> ModelUse:
    import numpy as np

    p50, p95 = np.quantile(one.seconds, [0.5, 0.95]) if one.seconds else (None, None)
    return ModelUse(
        model=name,
        calls=one.calls,
        journalled=one.journalled,
        input_tokens=one.input_tokens,
        output_tokens=one.output_tokens,
        cached_tokens=one.cached_tokens,
        cost_usd=one.cost_usd,
        unpriced=one.unpriced,
        retries=dict(one.retries),
        failed=dict(one.failed),
        p50_seconds=None if p50 is None else round(float(p50), 4),
        p95_seconds=None if p95 is None else round(float(p95), 4),
        snapshots=tuple(sorted(one.snapshots)),
    )
