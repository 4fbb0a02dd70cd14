"""What a call costs: litellm's table, prices given by hand, and a cap that holds before money is spent."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from pydantic import Field, ValidationError

from builders.values import Value
from evaluators.models import is_loopback, price
from evaluators.values import Message, Model, Reply, Usage

# Assumed length of a reply where nothing was seen yet and no --max-tokens bounds it.
FIRST_REPLY = 1000  # tokens
# Providers count an image as 85 to about 1,600 tokens, by its size.
IMAGE = 1600  # tokens


class PriceError(ValueError):
    """A price on the command line cannot be read, or one that is needed is missing."""


class Rate(Value):
    """Price of a model in USD per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0, description="Input from the provider's cache; None: as other input.")


class Prices:
    """Prices by model: those given by hand first, then litellm's table.

    Args:
        given: Rates by model name; the empty name stands for every model that the table does not know.
        batched: Which models will be asked in batches, for what is said in advance; None: none.
    """

    def __init__(
        self, given: Mapping[str, Rate] | None = None, *, batched: Callable[[Model], bool] | None = None
    ) -> None:
        self._given = dict(given or {})
        self._batched = batched or (lambda _: False)

    def quoted(self, model: Model, usage: Usage) -> float | None:
        """What a run is told in advance: 0 on this machine unless a price was given, None where it is unknown."""
        return 0.0 if self.free(model) else self.of(model, usage, batch=self._batched(model))

    def of(self, model: Model, usage: Usage, *, batch: bool = False) -> float | None:
        """Price of these tokens in USD; None where it is unknown.

        Args:
            batch: At the price of a provider's batch interface. A rate given by hand holds as it is.
        """
        rate = self._given.get(model.name)
        if rate is None:
            listed = price(model, usage, batch=batch)
            if listed is not None or "" not in self._given:
                return listed
            rate = self._given[""]
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = min(usage.cached_tokens or 0, usage.input_tokens)
        dear = rate.input if rate.cached is None else rate.cached
        return ((usage.input_tokens - cached) * rate.input + cached * dear + usage.output_tokens * rate.output) / 1e6

    def free(self, model: Model) -> bool:
        """Whether calls of a model cost nothing: those of this machine, unless a price was given for them."""
        return is_loopback(model.api_base) and model.name not in self._given and "" not in self._given

    def known(self, model: Model) -> bool:
        """Whether it is known what calls of a model cost."""
        return self.free(model) or self.of(model, Usage(input_tokens=1000, output_tokens=1000)) is not None


def read_prices(given: Iterable[str], *, batch: bool = False) -> Prices:
    """Read `[MODEL=]IN,OUT[,CACHED]`, in USD per million tokens.

    Args:
        given: The words of the command line.
        batch: What is told in advance is told of batches, for models that take them.

    Raises:
        PriceError: If one cannot be read.
    """
    rates = {}
    for text in given:
        name, _, numbers = text.rpartition("=")
        parts = numbers.split(",")
        try:
            rates[name] = Rate.model_validate(dict(zip(Rate.model_fields, parts, strict=False)))
        except ValidationError:
            parts = []
        if len(parts) not in {2, 3}:
            raise PriceError(f"--price {text!r}: write [MODEL=]IN,OUT or IN,OUT,CACHED in USD per million tokens")
    if not batch:
        return Prices(rates)
    from evaluators.engines.batch_api import batched

    return Prices(rates, batched=batched)


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Count the tokens of a prompt without a tokenizer, rather too many than too few.

    Two tokens for five letters of ASCII; what takes more bytes, Chinese above all, also takes more tokens.
    """
    return sum(len(m.text.encode()) - len(m.text) * 3 // 5 + 4 + IMAGE * len(m.images) for m in messages)


class Budget:
    """A cap on what the replies in a journal may cost together; calls in flight count with what they may come to.

    Args:
        most_usd: The cap; None: none.
        prices: What calls cost.
        paid_usd: What the journal's replies cost before this session.
    """

    def __init__(self, most_usd: float | None, prices: Prices, *, paid_usd: float = 0.0) -> None:
        self.most_usd, self.prices, self.paid_usd = most_usd, prices, paid_usd
        self._promised = 0.0
        self._longest: dict[str, int] = {}  # output tokens seen, by model

    def promise(self, model: Model, messages: Sequence[Message]) -> float | None:
        """Set aside what a call may cost; None where that would go beyond the cap, and then nothing is set aside.

        An output is taken for as long as `--max-tokens` allows, or as the longest that this model has sent so far.
        """
        if self.most_usd is None:
            return 0.0
        output = model.decoding.max_tokens or max(FIRST_REPLY, self._longest.get(model.name, 0))
        usd = self.prices.of(model, Usage(input_tokens=estimate_tokens(messages), output_tokens=output)) or 0.0
        if self.paid_usd + self._promised + usd > self.most_usd:
            return None
        self._promised += usd
        return usd

    def settle(self, promised: float, model: Model, reply: Reply | None) -> None:
        """Put what a call came to in the place of what was set aside."""
        self._promised = max(0.0, self._promised - promised)
        if reply is not None:
            self.paid_usd += reply.cost_usd or 0.0
            longest = self._longest.get(model.name, 0)
            self._longest[model.name] = max(longest, reply.usage.output_tokens or 0)
