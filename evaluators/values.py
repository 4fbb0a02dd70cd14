"""The values evaluators make: messages, replies, transcripts, verdicts, scores and submissions."""

from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag, model_validator

from builders.values import ItemId, Name, Protocol, Sha256, Value, Version
from evaluators.answers import CaseAnswer, Game, NovelAnswer, NovelRecord, SoupAnswer

HexId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
Label = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]+$"
    ),
]
SplitRef = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*@\d+\.\d+\.\d+$")]

# Other spellings of a maker's name. A judge sits out by its maker's name, so each maker has one.
MAKERS = {"google": "gemini", "google-deepmind": "gemini", "deepmind": "gemini", "mistralai": "mistral", "x-ai": "xai"}
Provider = Annotated[Name, AfterValidator(lambda name: MAKERS.get(name, name))]

Failure = Literal["unparsed", "refused", "too_long", "rejected", "rate_limited", "timeout", "service", "responder"]
# The model spoke (or declined to) and gave no usable answer: that is the model's doing, counted as `no_answer`.
NO_ANSWER: frozenset[Failure] = frozenset({"unparsed", "refused"})
# Nobody answered: the item is missing, shown apart and tried again by the next run; never a wrong answer.
# `responder`: the other model in a game gave no usable reply, which says nothing about the one that is evaluated.
FAILED: frozenset[Failure] = frozenset({"too_long", "rejected", "rate_limited", "timeout", "service", "responder"})

Evidence = Literal["run", "answers brought", "answers and verdicts brought"]
Tier = Literal["scored-here", "rejudged", "released", "self-reported", "published"]


class Image(Value):
    """An image shown to a model; once written down, only its digest is kept."""

    sha256: Sha256
    media_type: Literal["image/jpeg", "image/png"]
    data: bytes | None = Field(None, repr=False)


class Message(Value):
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[Image, ...] = ()

    def recorded(self) -> "Message":
        """The message as transcripts and journals keep it, without image bytes."""
        if not self.images:
            return self
        return self.model_copy(update={"images": tuple(i.model_copy(update={"data": None}) for i in self.images)})


class Usage(Value):
    """Tokens of a call as the provider counted them; None: the provider did not say."""

    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    cached_tokens: int | None = Field(None, ge=0, description="Part of input_tokens served from the provider's cache.")
    reasoning_tokens: int | None = Field(None, ge=0, description="Part of output_tokens.")


class Reply(Value):
    """What came back from one question to a model; exactly one of `text` and `failure`."""

    text: str | None = None
    failure: Failure | None = None
    detail: str | None = Field(None, description="Why it failed, in one line.")
    finish_reason: str | None = None
    snapshot: str | None = Field(None, description="Model name that the provider reports.")
    usage: Usage = Usage()
    cost_usd: float | None = Field(None, ge=0, description="None: the price of this model is unknown.")
    seconds: float = Field(0.0, ge=0, description="Wall clock of the attempt that counted.")
    attempts: int = Field(1, ge=1)

    @model_validator(mode="after")
    def _text_or_failure(self) -> "Reply":
        if (self.text is None) == (self.failure is None):
            raise ValueError("a reply has exactly one of text and failure")
        return self


class Decoding(Value):
    """How a model was asked to decode; None: not sent, the provider's default holds."""

    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int | None = Field(None, ge=1)
    reasoning_effort: str | None = None
    thinking_tokens: int | None = Field(None, ge=1, description="Budget for thinking where a provider takes one.")
    seed: int | None = None
    json_schema: bool = Field(True, description="Send the reply's JSON schema; False for endpoints that refuse one.")


class Model(Value):
    """A model as it is called, and who made it."""

    name: Label = Field(description="litellm string, stored as given, for example `openai/gpt-5.1`.")
    provider: Provider = Field(description="Maker of the model, for example `openai`; never guessed from the name.")
    api_base: str | None = Field(None, description="Endpoint; None: litellm's own for the name.")
    decoding: Decoding = Decoding()


class RiddleAnswer(Value):
    """A model's answer to a riddle."""

    kind: Literal["riddle"] = "riddle"
    answer: str
    justification: str

    @property
    def empty(self) -> bool:
        """Whether no answer was given."""
        return not self.answer.strip()

    @property
    def texts(self) -> tuple[str, str]:
        """The answer and its reasoning, as the store keeps them."""
        return self.answer, self.justification


def _kind(value: Any) -> str:
    # A riddle's answer is written down without its kind, which is the default; every other kind names itself.
    return str(value.get("kind", "riddle") if isinstance(value, dict) else getattr(value, "kind", "riddle"))


Answer = Annotated[
    Annotated[RiddleAnswer, Tag("riddle")]
    | Annotated[SoupAnswer, Tag("soup")]
    | Annotated[NovelAnswer, Tag("novel")]
    | Annotated[CaseAnswer, Tag("case")],
    Discriminator(_kind),
]


class Transcript(Value):
    """One attempt of one model at one item."""

    transcript_id: HexId
    split: SplitRef
    item_id: ItemId
    model: Label
    protocol: Protocol
    condition: str = Field(description="What was varied, for example `hints=0`.")
    epoch: int = Field(0, ge=0, description="0 for the first repeat.")
    messages: tuple[Message, ...] = ()
    answer: Answer | None = None
    failure: Failure | None = None
    novel: NovelRecord | None = Field(None, description="What was shown of the novel, where the item is about one.")
    game: Game | None = Field(None, description="The record of the turns, where the protocol has turns.")
    usage: Usage = Usage()
    cost_usd: float | None = Field(None, ge=0, description="Price of the reply that counted; None: unknown.")
    seconds: float | None = Field(
        None,
        ge=0,
        description="None in a bundle: wall-clock times stay in the journal, so equal replies make equal bundles.",
    )

    @model_validator(mode="after")
    def _answer_or_failure(self) -> "Transcript":
        if (self.answer is None) == (self.failure is None):
            raise ValueError("a transcript has exactly one of answer and failure")
        return self

    @property
    def no_answer(self) -> bool:
        """Whether the model gave none: an empty answer or a reply nobody can read."""
        return self.failure in NO_ANSWER or (self.answer is not None and self.answer.empty)


def transcript_id(submission: str, item_id: str, epoch: int) -> str:
    """Name an attempt: 16 hex digits that any run of the same submission key, item and epoch arrives at."""
    return sha256(f"{submission}\n{item_id}\n{epoch}".encode()).hexdigest()[:16]


class Verdict(Value):
    """One judge on one unit of one attempt; exactly one of `score` and `failure`."""

    transcript_id: HexId
    judge: Label
    provider: Provider | None = Field(None, description="Maker of the judge; None for people and rules.")
    kind: Literal["model", "human", "author", "rule"]
    unit: str = Field(
        "item",
        description="`item`, or the part judged: `answer`, a letter; `s03.q2`, a case's question.",
    )
    score: float | None = Field(None, ge=0, description="In the metric's own unit; riddle: 0 or 1, both parts right.")
    marks: dict[str, bool] = Field(
        default_factory=dict, description="The parts of the score, for example is_answer_correct."
    )
    parts: dict[str, float] = Field(
        default_factory=dict, description="Parts of the score that are shares in [0, 1], for example `logic`."
    )
    failure: Failure | None = None
    reply: str | None = Field(None, description="The judge's own words.")
    prompt_sha256: Sha256 | None = Field(None, description="Digest of the prompt template; None for people and rules.")
    usage: Usage = Usage()
    cost_usd: float | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _score_or_failure(self) -> "Verdict":
        if (self.score is None) == (self.failure is None):
            raise ValueError("a verdict has exactly one of score and failure")
        return self


class Score(Value):
    """The jury's result on one attempt."""

    transcript_id: HexId
    metric: str
    value: float = Field(ge=0, description="Mean of the votes.")
    votes: tuple[tuple[str, float], ...] = Field(description="(judge, score), sorted by judge.")


class Seat(Value):
    """A judge of a panel."""

    judge: Label = Field(description="Name in verdicts; tells apart two seats of one model.")
    model: Model
    reserve: bool = Field(False, description="Sits only where another seat is excluded.")


class Panel(Value):
    """A jury as data: who sits, and who steps in when a judge's own provider is evaluated."""

    name: Name
    title: str
    seats: tuple[Seat, ...] = Field(min_length=1)
    excludes_own_provider: bool = Field(
        True, description="False only for plumbing checks, where one model fills all seats."
    )

    @model_validator(mode="after")
    def _three_sit(self) -> "Panel":
        if len({s.judge for s in self.seats}) != len(self.seats):
            raise ValueError("two seats have the same judge name")
        if self.sitting != 3 and len(self.seats) != 1:
            raise ValueError("a panel has exactly three seats that are not reserves, or is a single grader")
        return self

    @property
    def sitting(self) -> int:
        """How many judges mark an answer: three, or one where the panel is a single grader of cases."""
        return sum(not s.reserve for s in self.seats)


class Counts(Value):
    """What became of the attempts of a submission; the five parts add up to `expected`."""

    expected: int = Field(ge=0, description="Items times epochs.")
    scored: int = Field(ge=0, description="Answered and judged by the whole jury.")
    no_answer: int = Field(ge=0, description="The model gave none; scored 0 by rule.")
    unjudged: int = Field(ge=0, description="Answered, but fewer than three verdicts could be read.")
    failed: int = Field(ge=0, description="The call failed; neither right nor wrong.")
    missing: int = Field(ge=0, description="Not attempted.")

    @model_validator(mode="after")
    def _add_up(self) -> "Counts":
        if self.scored + self.no_answer + self.unjudged + self.failed + self.missing != self.expected:
            raise ValueError("counts do not add up to `expected`")
        return self


class FileDigest(Value):
    """A file of a bundle and its digest."""

    name: str
    sha256: Sha256
    rows: int = Field(ge=0)


class Submission(Value):
    """What a submitter sends: who answered, how, judged by whom, and the digests of the evidence."""

    schema_version: int = 1
    submission_id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,127}$")]
    kind: Literal["model", "gold"] = Field(
        "model", description="`gold`: labelled answers that calibrate a jury; never ranked."
    )
    benchmark: Name
    split: Name
    version: Version
    split_sha256: Sha256 | None = Field(
        description="Digest in the split's manifest; None for imported releases that name none."
    )
    protocol: Protocol
    condition: str
    epochs: int = Field(1, ge=1)
    evidence: Evidence = Field("run", description="What the submitter brought instead of running it here.")
    model: Model
    snapshots: tuple[str, ...] = Field((), description="Model names that the provider reported, sorted.")
    open_weights: bool | None = None
    url: str | None = None
    release_date: str | None = None
    jury: Name = Field(description="Name of the panel.")
    judges: tuple[Label, ...] = Field(description="The judges who sat, sorted.")
    prompt_sha256: tuple[Sha256, ...] = ()
    date: str = Field(description="Day the run began, YYYY-MM-DD, UTC.", pattern=r"^\d{4}-\d{2}-\d{2}$")
    command: str | None = None
    code_version: str | None = None
    counts: Counts
    usage: Usage = Field(
        Usage(), description="Tokens of the model's replies that counted; the jury's are in its verdicts."
    )
    cost_usd: float | None = Field(None, ge=0, description="Price of those replies; None: unknown.")
    jury_cost_usd: float | None = Field(None, ge=0, description="Price of the jury's replies; None: unknown.")
    contamination: str | None = Field(None, description="What the submitter knows about the split in training data.")
    contact: str | None = None
    note: str | None = None
    files: tuple[FileDigest, ...] = ()

    @property
    def ref(self) -> str:
        """`split@version`."""
        return f"{self.split}@{self.version}"


def own_tier(submission: Submission) -> Tier:
    """Tier of a run on this very machine: it is worth what was really run here."""
    tiers: dict[Evidence, Tier] = {
        "run": "scored-here",
        "answers brought": "rejudged",
        "answers and verdicts brought": "self-reported",
    }
    return tiers[submission.evidence]


class Estimate(Value):
    """A published number: one model, one split, one method, one estimand.

    Shares are fractions in [0, 1]; grades of cases run from 0 to 3 (`evaluators.scores.FULL_MARKS`).
    """

    benchmark: Name
    split: Name
    version: Version
    condition: str
    submission_id: str
    model: Label
    provider: Name
    metric: str
    estimand: Literal["these items", "items like these"]
    method: Literal["layton", "ppi", "betabin", "lsre", "wilson", "cluster-t", "bootstrap"]
    value: float
    low: float
    high: float
    level: float = Field(0.95, gt=0, lt=1)
    n: int = Field(ge=0, description="Attempts the estimate is about.")
    n_human: int = Field(ge=0, description="Of these, attempts with a human label of their own.")
    n_pool: int = Field(ge=0, description="Labelled attempts of other providers that calibrate the jury.")
    labels: Literal["human", "author", "none"] = Field(description="Who made the labels of the pool.")
    jury: Name
    tier: Tier
    best_rank: int | None = Field(None, ge=1)
    worst_rank: int | None = Field(None, ge=1)
    provisional: bool = Field(description="Fewer than 30 human labels of its own.")
    notes: tuple[str, ...] = ()


class PublishedScore(Value):
    """A score that a paper printed for one category or configuration: cited and shown, never ranked."""

    benchmark: Name
    split: Name
    condition: str
    model: Label = Field(description="As the paper prints it.")
    category: str = Field(description="Genre; `all` for a whole split.")
    metric: str
    score: float = Field(ge=0, le=100, description="Points, as printed.")
    reduction: float | None = Field(None, description="Points from the human baseline, as printed.")
    table: str = Field(description="Where in the paper, for example `Table 2`.")
    citation: str


class Published(Value):
    """A figure that a paper printed: cited and shown, never ranked against figures computed here."""

    benchmark: Name
    split: Name
    condition: str
    model: Label = Field(description="As the paper prints it.")
    provider: str = Field(max_length=64, description="As the paper prints it; may be who served the model.")
    score: float = Field(ge=0, le=100, description="Points, as printed.")
    half_width: float = Field(ge=0, le=100, description="Points, half of the printed 95 % interval.")
    rank: int = Field(ge=1)
    best_rank: int = Field(ge=1)
    worst_rank: int = Field(ge=1)
    table: str = Field(description="Where in the paper, for example `Table 1`.")
    citation: str
