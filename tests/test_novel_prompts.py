"""What a model is shown of a novel: never the answer's paragraph, never more than fits, and never a word on record."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.novels import Paragraph
from builders.values import NovelQuestion, Value
from evaluators.answers import NovelSetting
from evaluators.heading import Heading
from evaluators.models import ModelError, count_tokens, input_limit
from evaluators.prompts import Prompt
from evaluators.protocols.novel.excerpt import as_text, fit, record, sizes, visible
from evaluators.protocols.novel.play import look_up, reading_order
from evaluators.protocols.novel.shelf import Shelf, opened
from evaluators.protocols.novel.solve import Setup, solve
from evaluators.values import Message, Model, Reply, Transcript
from tests.made_novel import novel_question, paragraphs

MODEL = Model(name="openai/gpt-5.1", provider="openai")
RUN = Heading("key", "sample-novel@1.0.0", MODEL, "novel", "c")
SETTINGS: tuple[NovelSetting, ...] = ("context", "question-only", "evidence")
TITLE, AUTHOR = "The Quiet House", "A. Nobody"


def characters(line: str) -> int:
    return len(line)


def asked(
    question: NovelQuestion, novel: Sequence[Paragraph], setting: NovelSetting, *, language: str = "en", cut: int = 0
) -> tuple[str, Transcript]:
    """What a model is sent, and the transcript that is kept."""
    sent: list[str] = []

    async def complete(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
        sent.append("\n".join(m.text for m in messages))
        return Reply(text=json.dumps({"reasoning": ["So it was."], "answer": "B"}))

    shown = {question.id: record(question, sizes(novel, characters), setting=setting, cut=cut)}
    prompt = Prompt(f"novel/{language}/solver")
    setup = Setup(RUN, prompt, shown, quotable=True)
    transcript = asyncio.run(solve(question, complete, novel=opened(novel), epoch=0, setup=setup))
    (only,) = sent
    return only, transcript


@st.composite
def stories(draw: st.DrawFn) -> tuple[NovelQuestion, tuple[Paragraph, ...]]:
    """A novel whose labels rise with gaps, and a question whose positions may point anywhere."""
    labels = sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=25)))
    steps = draw(st.lists(st.sampled_from([-1, 0, *range(1, 65)]), min_size=1, max_size=6))
    question = novel_question(
        reasoning=[f"Step {n}." for n in range(len(steps))],
        evidence_position=steps,
        answer_position=draw(st.integers(1, 65)),
    )
    return question, tuple(Paragraph(label, f"<{label}> it rained.") for label in labels)


@settings(max_examples=150)
@given(stories(), st.sampled_from(SETTINGS), st.sampled_from(["en", "zh"]), st.integers(0, 5))
def test_no_paragraph_from_the_answer_on_is_ever_in_a_prompt(
    made: tuple[NovelQuestion, tuple[Paragraph, ...]], setting: NovelSetting, language: str, cut: int
) -> None:
    question, novel = made
    cut = cut if setting == "context" else 0
    sent, transcript = asked(question, novel, setting, language=language, cut=cut)
    inside = [p.label for p in novel if f"<{p.label}>" in sent]
    before = [p.label for p in novel if p.label < question.answer_position]
    expected = {
        "context": before[cut:],
        "question-only": [],
        "evidence": [label for label in before if label in question.evidence_position],
    }
    assert inside == expected[setting]
    assert all(label < question.answer_position for label in inside)
    assert [f"[{label}]" in sent for label in inside] == [True] * len(inside)
    named = setting == "question-only"
    assert (TITLE in sent, AUTHOR in sent) == (named, named), "title and author are in question-only and nowhere else"
    kept = transcript.model_dump_json()
    assert not any(f"<{p.label}>" in kept for p in novel), "a transcript keeps no word of the novel"
    shown = transcript.novel
    assert shown is not None
    assert (shown.paragraphs, shown.first, shown.last) == (
        len(inside),
        *([inside[0], inside[-1]] if inside else [None] * 2),
    )


@given(stories(), st.integers(0, 3000))
@settings(max_examples=100)
def test_a_context_is_cut_from_the_front_by_no_more_than_it_must(
    made: tuple[NovelQuestion, tuple[Paragraph, ...]], room: int
) -> None:
    question, novel = made
    size = sizes(novel, characters)
    cut = fit(question, size, room=room)

    def length(paragraphs_out: int) -> float:
        return 1.01 * len(as_text(visible(question, novel, setting="context", cut=paragraphs_out)) + "\n")

    left = len(visible(question, novel, setting="context", cut=cut))
    assert left == 0 or length(cut) <= room
    assert cut == 0 or length(cut - 1) > room
    assert fit(question, size, room=None) == 0


def test_depth_is_the_share_of_characters_before_the_evidence_and_is_known_for_what_was_shown_only() -> None:
    novel = tuple(Paragraph(label, "x" * 94 + f"{label:02}") for label in range(1, 21))
    question = novel_question(evidence_position=(1, 6, 15), answer_position=11)
    size = sizes(novel, characters)
    shown = record(question, size, setting="context")
    assert shown.depths == (0.0, pytest.approx(0.5, abs=0.01), None), "evidence after the answer is not shown"
    cut = record(question, size, setting="context", cut=5)
    assert (cut.paragraphs, cut.first, cut.last, cut.cut) == (5, 6, 10, 5)
    assert cut.depths == (None, 0.0, None)
    assert record(question, size, setting="evidence").depths == ()


def test_paragraphs_counted_one_by_one_come_within_a_hundredth_of_the_novel_as_a_whole() -> None:
    novel = paragraphs(800)
    empty = count_tokens(MODEL, [Message(role="user", text="")])
    one_by_one = sizes(novel, lambda line: count_tokens(MODEL, [Message(role="user", text=line)]) - empty).tokens.sum()
    whole = count_tokens(MODEL, [Message(role="user", text=as_text(novel))]) - empty
    assert one_by_one == pytest.approx(whole, rel=0.01)


def look(limit: int | None, *, truncate: bool = False) -> tuple[dict[str, int], int]:
    """Paragraphs cut from two questions about one novel, and how often that was loaded."""
    loads: list[str] = []

    def fetch(key: str) -> tuple[Paragraph, ...]:
        loads.append(key)
        return paragraphs(400)

    items = (novel_question(1, answer_position=390), novel_question(0, answer_position=40))
    found = look_up(
        items, fetch, model=MODEL, setting="context", limit=limit, truncate=truncate, prompt=Prompt("novel/en/solver")
    )
    return {name: shown.cut for name, shown in found.items()}, len(loads)


def test_a_context_that_is_too_long_is_refused_by_name_or_cut_when_asked() -> None:
    early, late = "en/human_anno/7/0", "en/human_anno/7/1"
    assert look(None) == ({early: 0, late: 0}, 1), "a novel is read once, however many questions are asked"
    assert look(100_000) == ({early: 0, late: 0}, 1)
    with pytest.raises(ModelError, match=r"1 of 2 questions need more tokens.*--truncate front.*en/human_anno/7/1 \("):
        look(5_000)
    cut, _ = look(5_000, truncate=True)
    assert cut[early] == 0
    assert 0 < cut[late] < 389
    with pytest.raises(ModelError, match=r"2 of 2 questions.*raise --max-context"):
        look(600, truncate=True)


def test_the_limit_comes_from_litellms_table_for_listed_models_at_their_own_endpoint() -> None:
    assert input_limit(Model(name="anthropic/claude-opus-4-5-20251101", provider="anthropic")) == 200_000
    assert input_limit(MODEL.model_copy(update={"api_base": "http://127.0.0.1:1/v1"})) is None
    assert input_limit(Model(name="openai/nobody-knows", provider="me")) is None


def test_questions_stand_novel_by_novel_as_their_contexts_grow() -> None:
    items = [
        novel_question(n, novel=novel, answer_position=at)
        for n, (novel, at) in enumerate([(8, 30), (7, 20), (8, 10), (7, 5)])
    ]
    assert [(q.novel, q.answer_position) for q in reading_order(items)] == [
        ("en/8", 10),
        ("en/8", 30),
        ("en/7", 5),
        ("en/7", 20),
    ]


def test_the_shelf_loads_a_novel_once_while_it_is_needed_and_lets_it_go_after() -> None:
    shelf = Shelf(lambda key: [(1, key)], ["a", "a", "b"])
    assert shelf.take("a") is shelf.take("a")
    shelf.put_back("a")
    assert shelf.take("b") == (((1, "b"),), "b")
    shelf.put_back("a")
    shelf.put_back("b")
    assert (dict(shelf.loaded), shelf.most_open) == ({"a": 1, "b": 1}, 2)
    shelf.take("a")
    assert shelf.loaded["a"] == 2, "it was let go after its last use"
