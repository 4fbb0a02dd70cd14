"""A model that repeats a novel at length leaves none of it behind; short quotations stay."""

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.novels import Paragraph
from builders.values import Value
from evaluators.heading import Heading
from evaluators.prompts import Prompt
from evaluators.protocols.novel.excerpt import record, sizes
from evaluators.protocols.novel.quotes import PASSAGE, flat, without_passages
from evaluators.protocols.novel.shelf import opened
from evaluators.protocols.novel.solve import Setup, solve
from evaluators.values import Message, Model, Reply
from tests.made_novel import novel_question

SAID = 'She laid the "key" down, and nobody in the long room spoke; '
NOVEL = tuple(
    Paragraph(n, " ".join(f"{SAID if w % 9 == 0 else ''}word{n}x{w}" for w in range(60)) + ".") for n in range(1, 41)
)
WORDS = flat(NOVEL).split(" ")


@given(st.integers(0, 3), st.data())
def test_a_long_passage_is_cut_and_what_stands_around_it_is_kept(where: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(WORDS) - 80))
    count = data.draw(st.integers(PASSAGE + 1, 70))
    passage = " ".join(WORDS[start : start + count])
    around = ["I infer ", "!", " hence B?", ""][where]
    left = without_passages(around + passage + around, flat(NOVEL), language="en")
    assert passage not in left
    assert left.count("words of the novel]") == 1
    assert left.startswith(around.rstrip())
    assert left.endswith(around.lstrip())


@given(st.integers(0, len(WORDS) - 30), st.integers(1, 9))
def test_a_short_quotation_stays(start: int, count: int) -> None:
    text = "He says: " + " ".join(WORDS[start : start + count]) + " - and so it was."
    assert without_passages(text, flat(NOVEL), language="en") == text


@given(st.text(alphabet="abc xyz.'\u2019\u201c\n", max_size=400))
def test_words_of_its_own_are_never_touched(text: str) -> None:
    assert without_passages(text, flat(NOVEL), language="en") == text


def test_typographers_quotation_marks_and_line_breaks_hide_nothing() -> None:
    passage = " ".join(WORDS[:60]).replace('"', "\u201d").replace(" word1x3", "\nword1x3")
    assert without_passages(passage, flat(NOVEL), language="en").endswith("words of the novel]")


def test_chinese_is_counted_in_characters() -> None:
    novel = flat([Paragraph(1, "窗外下着雨，老人把钥匙放在桌上，没有人说话，只有钟声一下一下地响着，直到天亮。")])
    assert without_passages(f"他说：{novel}", novel, language="zh").startswith("他说：[")
    assert without_passages("老人把钥匙放在桌上，所以是他。", novel, language="zh") == "老人把钥匙放在桌上，所以是他。"


@pytest.mark.parametrize("readable", [True, False])
def test_a_transcript_of_a_model_that_quotes_holds_nothing_of_the_novel(readable: bool) -> None:
    passage = NOVEL[4].text

    async def complete(messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0) -> Reply:
        said = {"reasoning": [f"It says: {passage}", "So B."], "answer": "B" if readable else "none"}
        return Reply(text=json.dumps(said))

    question = novel_question(answer_position=30)
    shown = {question.id: record(question, sizes(NOVEL, len), setting="context")}
    model = Model(name="openai/gpt-5.1", provider="openai")
    run = Heading("key", "sample-novel@1.0.0", model, "novel", "c")
    setup = Setup(run, Prompt("novel/en/solver"), shown, quotable=True)
    transcript = asyncio.run(solve(question, complete, novel=opened(NOVEL), epoch=0, setup=setup))
    kept = json.loads(transcript.model_dump_json())
    assert (transcript.answer is not None) == readable
    text = json.dumps(kept).replace("\\\\", "\\")
    for start in range(0, len(passage) - 150, 25):
        assert passage[start : start + 150].replace('"', '\\"') not in text
    assert "words of the novel]" in text
