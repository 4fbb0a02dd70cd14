"""Answers of protocols that need more than two texts, and the record of how a player got there (values)."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from builders.values import Genre, Sha256, Value

YesNo = Literal["yes", "no", "unknown"]
Letter = Literal["A", "B", "C", "D"]
NovelSetting = Literal["context", "question-only", "evidence"]
Ablation = Literal["full", "no-deliberation", "no-meta-cognition", "no-pruning", "no-key-clue", "none"]


class SoupAnswer(Value):
    """A player's reconstruction of the story behind a situation puzzle."""

    kind: Literal["soup"] = Field(description="Always said: without it an answer is a riddle's.")
    logic: tuple[str, ...] = Field(description="The causal chain, step by step, without names.")
    details: tuple[str, ...] = Field(description="The facts of the story, one each.")
    conclusion: str = Field(description="The whole story as a text.")

    @property
    def empty(self) -> bool:
        """Whether nothing is said at all."""
        return not any(text.strip() for text in (*self.logic, *self.details, self.conclusion))

    @property
    def texts(self) -> tuple[str, str]:
        """The answer and its reasoning, as the store keeps them."""
        return self.conclusion, "\n".join((*self.logic, *self.details))


class SoupSettings(Value):
    """The hyper-parameters of a game; the defaults are those of Table 5 of the TurtleSoup-Bench paper."""

    max_turns: int = Field(30, ge=1, le=100, description="N_max: questions a player may ask.")
    interval: int = Field(5, ge=1, description="k: turns between two global deliberations.")
    alpha: float = Field(0.7, ge=0, le=1, description="Weight of the old confidence in the genre.")
    switch: float = Field(0.1, ge=0, le=1, description="By how much confidence must rise to change the genre.")
    window: int = Field(10, ge=1, description="Turns of history shown where questions are thought up.")
    screening_window: int = Field(4, ge=1, description="Turns of history shown where one is chosen.")
    new_clues: int = Field(3, ge=1, description="New key clues after which the genre is judged again.")
    genre_turns: int = Field(5, ge=1, description="Turns after which it is judged again anyway.")
    ablation: Ablation = "full"
    compat: Literal["released"] | None = Field(
        None, description="`released`: the matching, length limits and windows of the released code."
    )
    responder: str = Field(description="Model that answers the questions; `symmetric`: the player itself.")
    player: Literal["model", "human"] = "model"


class SoupTurn(Value):
    """One question and what came back."""

    question: str
    answer: YesNo
    key_clue: bool = Field(False, description="The question touches one of the puzzle's key clues.")
    candidates: tuple[str, ...] = Field((), description="What the question was chosen from, if from several.")
    analysis: str | None = Field(None, description="The player's reading of the turn before.")
    genre: Genre | None = Field(None, description="Whose questioning strategy was followed; None: the general one.")


class Proposal(Value):
    """A doubt, what may lie behind it, and a question that would settle it."""

    doubt: str
    analysis: str
    question: str


class SoupBelief(Value):
    """What the player took for the truth after some turn, and what it still doubted."""

    turn: int = Field(ge=1)
    logic: tuple[str, ...]
    details: tuple[str, ...]
    conclusion: str
    proposals: tuple[Proposal, ...] = ()


class SoupGame(Value):
    """The record of one game; of a game that failed, as far as it went."""

    settings: SoupSettings
    points_sha256: Sha256 = Field(description="Digest of the reference points that the game is scored against.")
    turns: tuple[SoupTurn, ...] = ()
    beliefs: tuple[SoupBelief, ...] = ()
    calls: int = Field(0, ge=0, description="Questions put to models, the Responder included; repairs come on top.")
    responder_cost_usd: float | None = Field(None, ge=0, description="Of a Responder of its own; None: unknown.")
    unread: int = Field(0, ge=0, description="Replies that nobody could read and the game did without.")

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything the player wrote on the way."""
        asked = [(t.question, *t.candidates, t.analysis or "") for t in self.turns]
        held = [(*b.logic, *b.details, b.conclusion) for b in self.beliefs]
        doubts = [(p.doubt, p.analysis, p.question) for b in self.beliefs for p in b.proposals]
        return tuple(text for part in (*asked, *held, *doubts) for text in part)

    @property
    def measures(self) -> dict[str, float]:
        """Facts about the course of the game, by name: counts, and shares of the questions in [0, 1]."""
        asked = len(self.turns)
        different = len({"".join(t.question.lower().split()) for t in self.turns})
        return {
            "turns": float(asked),
            "clues_per_turn": sum(t.key_clue for t in self.turns) / max(1, asked),
            "unknown": sum(t.answer == "unknown" for t in self.turns) / max(1, asked),
            "repeated": (asked - different) / max(1, asked),
        }


class NovelAnswer(Value):
    """A model's choice among the options of a question about a novel, and the steps that led it there."""

    kind: Literal["novel"] = Field(description="Always said: without it an answer is a riddle's.")
    letter: Letter
    steps: tuple[str, ...] = Field(min_length=1, description="The reasoning, one step each.")

    @property
    def empty(self) -> bool:
        """Whether no answer was given: a letter always is one."""
        return False

    @property
    def texts(self) -> tuple[str, str]:
        """The answer and its reasoning, as the store keeps them."""
        return self.letter, "\n".join(self.steps)


class NovelRecord(Value):
    """What a model was shown of a novel: numbers and a digest, never a word of it."""

    setting: NovelSetting
    novel: str = Field(description="Key of the novel, `<language>/<novel id>`.")
    paragraphs: int = Field(0, ge=0, description="Paragraphs of the novel in the prompt.")
    first: int | None = Field(None, description="Label of the first of them; None: none was shown.")
    last: int | None = Field(None, description="Label of the last; always below the question's answer position.")
    tokens: int = Field(0, ge=0, description="Tokens of these paragraphs by litellm's tokenizer for the model.")
    cut: int = Field(0, ge=0, description="Paragraphs cut from the front to fit the model.")
    sha256: Sha256 | None = Field(None, description="Digest of the text that was shown.")
    depths: tuple[float | None, ...] = Field(
        (),
        description="Setting `context`: for each reference step, how deep its evidence lies in what was shown, as the "
        "share of characters before it, in [0, 1]; None: an inference, or evidence that was not shown.",
    )


Scheme = Literal["simple", "discussion", "revision"]
GraderMode = Literal[1, 2, 3, 4, 5]


class CaseAnswer(Value):
    """A player's answers to the questions of a case, after the introduction and after every location."""

    kind: Literal["case"] = Field(description="Always said: without it an answer is a riddle's.")
    stages: tuple[tuple[str, ...], ...] = Field(
        min_length=1,
        max_length=200,
        description="One row a stage, one answer a question; an empty answer where the player gave none.",
    )

    @property
    def empty(self) -> bool:
        """Whether nothing is said at any stage."""
        return not any(text.strip() for row in self.stages for text in row)

    @property
    def texts(self) -> tuple[str, str]:
        """The answers of the last stage, and what was said before it, each text once."""
        before = dict.fromkeys(text for row in self.stages[:-1] for text in row)
        return "\n".join(self.stages[-1]), "\n".join(before)


class CaseSettings(Value):
    """How a case was played, and how its answers are graded."""

    kind: Literal["case"] = Field(description="Always said: without it the settings are those of a puzzle.")
    scheme: Scheme = Field("simple", description="`discussion`: reasons before it answers; `revision`: twice.")
    grader_mode: GraderMode = Field(5, description="What a grader is shown; 4 and 5 go by a rubric.")
    player: Literal["model", "human"] = "model"


class CaseVisit(Value):
    """One location that was visited, by its place in the case: no word of a sealed case is in a record."""

    location: int = Field(ge=0, description="Place in the case's list of locations, from 0.")
    how: Literal["chosen", "fallback", "forced"] = Field(
        description="`fallback`: no choice could be read, the first one left was taken; `forced`: the only one left."
    )


class CaseGame(Value):
    """The record of one case; of a game that failed, as far as it went. It holds nothing of the case's text."""

    settings: CaseSettings
    locations: int = Field(ge=2)
    questions: int = Field(ge=1)
    rubrics_sha256: Sha256 | None = Field(None, description="Digest of the rubrics; None where the mode has none.")
    visits: tuple[CaseVisit, ...] = ()
    unanswered: tuple[int, ...] = Field((), description="Stages at which the player declined or could not be read.")
    calls: int = Field(0, ge=0, description="Questions put to the player; repairs come on top.")

    @property
    def texts(self) -> tuple[str, ...]:
        """What the player wrote besides the answers: nothing is kept of it."""
        return ()

    @property
    def measures(self) -> dict[str, float]:
        """Facts about the course of the game, by name: counts."""
        return {
            "questions": float(self.questions),
            "locations": float(self.locations),
            "fallbacks": float(sum(v.how == "fallback" for v in self.visits)),
            "unanswered": float(len(self.unanswered)),
        }


def _played(value: Any) -> str:
    # A puzzle's settings are written down without their kind, which is the default.
    settings = value.get("settings") if isinstance(value, dict) else getattr(value, "settings", None)
    kind = settings.get("kind", "soup") if isinstance(settings, dict) else getattr(settings, "kind", "soup")
    return str(kind)


Game = Annotated[Annotated[SoupGame, Tag("soup")] | Annotated[CaseGame, Tag("case")], Discriminator(_played)]
