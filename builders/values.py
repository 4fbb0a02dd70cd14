"""The values builders make: sources, benchmarks, split manifests and the items of each protocol."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ItemId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
Version = Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Revision = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Protocol = Literal["riddle", "soup", "novel", "case"]
Language = Literal["en", "zh"]
Genre = Literal[
    "Crime_Thriller", "Mind_Game", "Supernatural_Fantasy", "Constant_Change", "Clever_Logic", "Original_Data"
]


class Value(BaseModel):
    """Base of every value that crosses from one room to the next: frozen, closed and finite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_bytes="base64", val_json_bytes="base64"
    )


class Source(Value):
    """Raw data, pinned."""

    title: str
    url: str = Field(description="Where a person finds it; `file:` for the project's own items.")
    hub_repo: str | None = Field(None, description="Dataset repository on the Hugging Face Hub, `namespace/name`.")
    revision: Revision | None = Field(None, description="Commit of the repository; None for a local folder.")
    sha256: Sha256 | None = Field(None, description="Digest of the raw files that were read.")
    licence: str = Field(description="SPDX identifier or `LicenseRef-...`.")
    citation: str


class Benchmark(Value):
    """What is measured, and on which splits."""

    name: Name
    title: str
    protocol: Protocol
    splits: tuple[Name, ...]
    metric: str = Field(description="Headline metric, for example `both_correct`.")
    sources: tuple[Source, ...]
    hub_repo: str | None = None
    visibility: Literal["public", "sealed"] = "public"


class SealedItem(Value):
    """An item that nobody sees, by a name and a digest that are salted: neither can be guessed and tried."""

    id: ItemId
    sha256: Sha256


class Seal(Value):
    """What may be said in clear about a sealed split."""

    ciphertext_sha256: Sha256
    ciphertext_bytes: int = Field(ge=1)
    words: int = Field(ge=0, description="Words of all texts of all items.")
    items: tuple[SealedItem, ...] = Field(min_length=1)


class SplitManifest(Value):
    """A built split: what is in it, where it came from and the digest that pins it."""

    benchmark: Name
    split: Name
    version: Version
    protocol: Protocol
    visibility: Literal["public", "sealed"] = "public"
    language: str = Field(description="BCP 47 tag, for example `en`.")
    licence: str
    items: int = Field(ge=1)
    sha256: Sha256 = Field(description="Digest of the item rows in their canonical JSON form; salted where sealed.")
    gold: int = Field(0, ge=0, description="Labelled answers shipped with the split.")
    gold_sha256: Sha256 | None = None
    schema_version: int = 1
    canary: str = Field(description="GUID string that marks training data which swallowed the split.")
    sources: tuple[Source, ...]
    sealed_for: tuple[str, ...] = Field((), description="Public keys of age; the identity of any of them opens it.")
    seal: Seal | None = None

    @property
    def sealed(self) -> bool:
        """Whether only holders of a key may read the items, and what is derived from them."""
        return self.visibility == "sealed"

    @property
    def ref(self) -> str:
        """`split@version`, the name under which a result cites the split."""
        return f"{self.split}@{self.version}"


class Riddle(Value):
    """One riddle; the fields of the layton-eval release with the image as bytes."""

    id: ItemId
    cluster: str = Field(description="Items that share a story share a cluster; a riddle stands alone.")
    category: str
    description: str = Field(min_length=1)
    image: bytes | None = Field(None, description="JPEG or PNG.", repr=False)
    url: str | None = None
    picarats: int | None = Field(None, ge=0, description="The game's own difficulty points; None: unknown.")
    first_hint: str | None = None
    second_hint: str | None = None
    third_hint: str | None = None
    special_hint: str | None = None
    solution: str | None = None
    answer: str = Field(min_length=1, description="Gold answer.")
    justification: str = Field(
        description="Reference reasoning a judge compares with; empty where the release has none."
    )

    @property
    def hints(self) -> tuple[str, ...]:
        """The hints there are, in the order in which a player buys them."""
        return tuple(h for h in (self.first_hint, self.second_hint, self.third_hint, self.special_hint) if h)


class Soup(Value):
    """One situation puzzle ("turtle soup") in one language; the fields of the TurtleSoup-Bench release."""

    id: ItemId = Field(description="`<language>/<genre>/<place in the release's file, from 0>`.")
    cluster: str = Field(description="The story: both languages of it, and its near-duplicates, share a cluster.")
    category: Genre
    language: Language
    pair: ItemId | None = Field(None, description="The same puzzle in the other language; None: there is none.")
    title: str = Field(description="May repeat in the release; never a key.")
    surface: str = Field(min_length=1, description="What the player is told.")
    bottom: str = Field(min_length=1, description="The whole story, which the player has to find.")
    tips: tuple[str, ...] = Field(min_length=1, description="Key clues; a question that touches one is flagged.")


class NovelQuestion(Value):
    """One question about a detective novel; the fields of the DetectiveQA release without any of the novel's text."""

    id: ItemId = Field(description="`<language>/<folder>/<novel>/<place in the file, from 0>`.")
    cluster: str = Field(description="The novel; its questions in both languages and folders share a cluster.")
    category: str = Field(description="Who annotated: `human_anno`, `AIsup_anno`, or `authored` for our own.")
    language: Language
    novel: str = Field(description="Key of the novel's paragraphs: `<language>/<novel id>`.")
    novel_sha256: Sha256 = Field(description="Digest of the novel's paragraphs; another edition is another item.")
    title: str = Field(min_length=1)
    author: str = Field(min_length=1)
    question: str = Field(min_length=1)
    options: tuple[str, str, str, str] = Field(description="The texts of A, B, C and D.")
    answer: Literal["A", "B", "C", "D"]
    distraction: tuple[str | None, str | None, str | None, str | None] = Field(
        description="What makes each option tempting; None: the release says nothing."
    )
    reasoning: tuple[str, ...] = Field(min_length=1, description="Reference steps from the evidence to the answer.")
    evidence_position: tuple[int, ...] = Field(
        description="For each step the label of the paragraph it rests on; -1 marks an inference."
    )
    answer_position: int = Field(ge=1, description="Label of the paragraph that gives the answer away.")


class Told(Value):
    """Base of what a case is made of: its text stands in no repr and in no message of a validation that fails."""

    model_config = ConfigDict(hide_input_in_errors=True)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show what is no text: numbers, ratings and, of a case, its id."""
        return [(n, v) for n, v in super().__repr_args__() if n in {"id", "grade"} or not isinstance(v, str)]


class GradeExample(Told):
    """An answer with its grade, to show a grader where the marks lie."""

    grade: Literal[0, 1, 2, 3]
    answer: str = Field(min_length=1)
    why: str | None = None


class ReasoningRating(Told):
    """How much a question asks of each kind of reasoning, 0 (very low) to 4 (very high)."""

    induction: int = Field(ge=0, le=4)
    deduction: int = Field(ge=0, le=4)
    abduction: int = Field(ge=0, le=4)


class CaseLocation(Told):
    """A place a player can visit, and what there is to read."""

    name: str = Field(min_length=1, max_length=120)
    text: str = Field(min_length=1)


class CaseQuestion(Told):
    """A question a player answers after the introduction and after each location."""

    question: str = Field(min_length=1)
    answer: str = Field(min_length=1, description="Model answer.")
    examples: tuple[GradeExample, ...] = Field((), description="Marking examples; at least one at each grade.")
    rating: ReasoningRating | None = Field(None, description="IDA rating given the whole case.")
    intro_rating: ReasoningRating | None = Field(None, description="IDA rating given the introduction alone.")


class Case(Told):
    """One Watson & Holmes case: a mystery told by its locations."""

    id: ItemId
    cluster: str = Field(description="The case stands alone: its own id.")
    category: str = Field("case", description="`case`, or `practice` for the one that is never scored.")
    title: str = Field(min_length=1)
    introduction: str = Field(min_length=1)
    locations: tuple[CaseLocation, ...] = Field(min_length=2)
    questions: tuple[CaseQuestion, ...] = Field(min_length=1)
    solution: str = Field(min_length=1)
    special_rules: str | None = None

    @property
    def practice(self) -> bool:
        """Whether the case is there to learn the game and is never scored."""
        return self.category == "practice"


Item = Riddle | Soup | NovelQuestion | Case
# The kind of item of each protocol.
ITEMS: Mapping[str, type[Riddle] | type[Soup] | type[NovelQuestion] | type[Case]] = MappingProxyType(
    {"riddle": Riddle, "soup": Soup, "novel": NovelQuestion, "case": Case}
)


class GoldAnswer(Value):
    """An answer with a label that calibrates a jury."""

    item_id: ItemId
    name: Name = Field(description="Tells the answers of one item apart, for example `wrong-reason`.")
    answer: str
    justification: str
    is_answer_correct: bool
    is_justification_correct: bool
    annotator: str = Field(
        description="`author` for labels that the item's author wrote; those are never called human."
    )


class FileSha256(Value):
    """A file of a published release and its digest."""

    path: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,2}$")
    sha256: Sha256


class PublishedSplit(Value):
    """How a split lies in a release: its rows, only their ids and digests, or only its ciphertext."""

    split: Name
    form: Literal["full", "ids", "sealed"]


class Release(Value):
    """One version of a benchmark on the Hub; `release.json` at the tag `v<version>`."""

    schema_version: Literal[1] = 1
    benchmark: Name
    version: Version
    prompts_sha256: Sha256 | None = Field(description="Digest of the prompts under which the items are asked.")
    splits: tuple[PublishedSplit, ...] = Field(min_length=1)
    files: tuple[FileSha256, ...] = Field(description="Every other file of the release, by path.")
