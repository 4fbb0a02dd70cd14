"""One model on one question: what it is sent, and the transcript, in which no word of the novel is kept."""

from collections.abc import Mapping
from hashlib import sha256
from typing import NamedTuple

from builders.values import Language, NovelQuestion
from evaluators.answers import NovelAnswer, NovelRecord
from evaluators.heading import Heading
from evaluators.models import Complete
from evaluators.prompts import Prompt
from evaluators.protocols.novel.excerpt import as_text, stand_in, visible
from evaluators.protocols.novel.forms import SolverReply
from evaluators.protocols.novel.quotes import steps_without, without_passages
from evaluators.protocols.novel.shelf import Novel
from evaluators.replies import ask
from evaluators.values import Message, Transcript


class Setup(NamedTuple):
    """What is the same for every question of a run."""

    run: Heading
    prompt: Prompt
    shown: Mapping[str, NovelRecord]  # by item, without digests
    quotable: bool  # whether the licence lets a transcript repeat the question


def solver_messages(question: NovelQuestion, text: str, *, setting: str, prompt: Prompt) -> tuple[Message, Message]:
    """Put a question to a model with the novel's text before it, so that questions of one novel share a prefix."""
    return prompt.messages({"question": question, "setting": setting, "text": text})


async def solve(question: NovelQuestion, complete: Complete, *, novel: Novel, epoch: int, setup: Setup) -> Transcript:
    """Let a model answer one question once."""
    shown = setup.shown[question.id]
    text = as_text(visible(question, novel.paragraphs, setting=shown.setting, cut=shown.cut))
    if text:
        shown = shown.model_copy(update={"sha256": sha256(text.encode()).hexdigest()})
    messages = solver_messages(question, text, setting=shown.setting, prompt=setup.prompt)
    asked = await ask(complete, messages, SolverReply, decoding=setup.run.model.decoding)
    kept: tuple[Message, ...] = ()
    if setup.quotable:
        kept = solver_messages(question, stand_in(shown), setting=shown.setting, prompt=setup.prompt)
    said = asked.value
    steps = steps_without(said.reasoning, novel.words, language=question.language) if said else ()
    return setup.run.transcript(
        question.id,
        epoch,
        messages=(*kept, *(_kept(m, novel.words, question.language) for m in asked.messages[len(messages) :])),
        answer=NovelAnswer(kind="novel", letter=said.answer, steps=steps) if said else None,
        failure=asked.reply.failure,
        novel=shown,
        usage=asked.usage,
        cost_usd=asked.cost_usd,
        seconds=asked.reply.seconds,
    )


def _kept(message: Message, novel: str, language: Language) -> Message:
    """A message as a transcript keeps it: as it was, or read as plain text with the novel's passages cut out."""
    # Inside JSON a quotation mark and the end of a line are spelled out.
    plain = message.text.replace('\\"', '"').replace("\\n", " ")
    text = without_passages(plain, novel, language=language)
    return message if text == plain else message.model_copy(update={"text": text})
