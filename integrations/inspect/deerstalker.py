"""Our benchmarks as tasks of Inspect, with our prompts, our reading of replies and our judges' instructions.

    inspect eval integrations/inspect/deerstalker.py@riddles -T split=hub:NAMESPACE/NAME/sample-llm@1.0.0 \\
        --model openai/gpt-5.1 -T judges=google/gemini-3-pro-preview,anthropic/claude-opus-4-5,mistral/large-2512
    inspect eval integrations/inspect/deerstalker.py@novels -T split=hub:NAMESPACE/NAME/sample-novel@1.0.0 \\
        -T setting=context --model openai/gpt-5.1

Runs in Inspect's own environment (requirements.txt beside this file) from a checkout. The log is what
`python -m evaluators.submit --predictions LOG.eval` takes: the leaderboard's score comes from its own jury and from
prediction-powered inference, Inspect's is the plain mean of these judges. Of novels, letters alone are marked here, by
rule; a log holds all that was sent, so the log of a novel under copyright is as private as the novel.
"""

import asyncio
import sys
from base64 import b64encode
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    GenerateConfig,
    Model,
    ModelOutput,
    ResponseSchema,
    get_model,
)
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import JSONSchema

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from builders.novels import Novels, open_novels  # noqa: E402 - found from here on
from builders.splits import load_split  # noqa: E402
from builders.values import NovelQuestion, Riddle, Value  # noqa: E402
from evaluators.answers import NovelSetting  # noqa: E402
from evaluators.prompts import Prompt  # noqa: E402
from evaluators.protocols import riddle as protocol  # noqa: E402
from evaluators.protocols.novel.brought import read_choice  # noqa: E402
from evaluators.protocols.novel.excerpt import as_text, visible  # noqa: E402
from evaluators.protocols.novel.forms import SolverReply as ChoiceReply  # noqa: E402
from evaluators.protocols.novel.solve import solver_messages as novel_messages  # noqa: E402
from evaluators.replies import ask  # noqa: E402
from evaluators.values import Decoding, Message, Reply, RiddleAnswer  # noqa: E402

MOST_JUDGES = 9
PROMPTS = {"solver": Prompt("riddle/solver"), "judge": Prompt("riddle/judge")}


@task
def riddles(
    split: str = "sample-llm@1.0",
    hints: int = 0,
    judges: str | list[str] = "",
    splits: str = str(ROOT / "splits"),
    json_schema: bool = True,
) -> Task:
    """Riddles: an answer with its justification, marked by one or more judges.

    Args:
        split: `hub:NAMESPACE/NAME/SPLIT@VERSION`, or a split that was built here.
        hints: Hints shown with each riddle, 0 to 4.
        judges: Models that mark, separated by commas; none: the model of the role `grader`, or the solver itself.
        splits: Folder of the built splits.
        json_schema: Send the replies' JSON schemas; false for endpoints that refuse one.
    """
    found = load_split(split, root=Path(splits))
    items = {item.id: item for item in found.items if isinstance(item, Riddle)}
    if not items or not 0 <= hints <= protocol.MOST_HINTS:
        raise ValueError(
            f"{split} has {len(items)} riddles and hints={hints}; take a split of riddles, and 0 to 4 hints"
        )
    names = judges.split(",") if isinstance(judges, str) else judges
    names = [name.strip() for name in names if name.strip()]
    if len(names) > MOST_JUDGES:
        raise ValueError(f"{len(names)} judges; {MOST_JUDGES} at most")
    played = Riddles(items, hints, tuple(names), json_schema)
    samples = [
        Sample(
            id=item.id,
            input=[chat(m) for m in protocol.solver_messages(item, hints=hints, prompt=PROMPTS["solver"])],
            target=item.answer,
            metadata={"category": item.category, "cluster": item.cluster},
        )
        for item in items.values()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=found.manifest.ref),
        solver=played.solver(),
        scorer=played.scorer(),
        version=found.manifest.version,
        metadata={
            "split_sha256": found.manifest.sha256,
            "canary": found.manifest.canary,
            "condition": protocol.condition(hints),
            "prompt_sha256": {name: prompt.sha256 for name, prompt in PROMPTS.items()},
        },
    )


class Riddles(NamedTuple):
    """What solver and scorer share; held apart from their arguments, which Inspect writes into its logs."""

    items: Mapping[str, Riddle]
    hints: int
    judges: tuple[str, ...]
    json_schema: bool

    def solver(self) -> Solver:
        """Ask for a riddle's answer; a reply that cannot be read is asked for once more."""

        @solver
        def answer_riddle() -> Solver:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                return await self._solve(state)

            return solve

        return answer_riddle()

    def scorer(self) -> Scorer:
        """Mean of the judges' marks, each 1 where answer and justification are both right."""

        @scorer(metrics=[mean(), stderr(cluster="cluster")])
        def both_correct() -> Scorer:
            async def score(state: TaskState, target: Target) -> Score:
                return await self._score(state)

            return score

        return both_correct()

    async def _solve(self, state: TaskState) -> TaskState:
        item, model = self.items[str(state.sample_id)], get_model()
        messages = protocol.solver_messages(item, hints=self.hints, prompt=PROMPTS["solver"])
        voice = Voice(model, json_schema=self.json_schema)
        asked = await ask(
            voice, messages, protocol.SolverReply, decoding=Decoding(temperature=model.config.temperature)
        )
        # The reply that counted is the sample's output: a log read back says what was scored.
        state.messages = [chat(m) for m in (*messages, *asked.messages[len(messages) :])]
        state.output = voice.last
        return state

    async def _score(self, state: TaskState) -> Score:
        item, declined = self.items[str(state.sample_id)], state.output.stop_reason == "content_filter"
        said = None if declined else protocol.read_answer(state.output.completion)
        if said is None or said.empty:
            return Score(value=0.0, answer="", explanation="no answer: it is not right, by rule")
        seats = [get_model(name) for name in self.judges] or [get_model(role="grader")]
        marks = await asyncio.gather(*(mark(item, said, model, json_schema=self.json_schema) for model in seats))
        explanation = "\n\n".join(f"{model.name}: {text}" for model, (_, text) in zip(seats, marks, strict=True))
        read = [both for both, _ in marks if both is not None]
        if len(read) < len(seats):
            # A verdict that nobody can read is no mark, so that there is no mean of this jury.
            return Score.unscored(answer=said.answer, explanation=explanation, reason="scoring_failed")
        return Score(value=sum(read) / len(read), answer=said.answer, explanation=explanation)


@task
def novels(
    split: str = "sample-novel@1.0",
    setting: NovelSetting = "context",
    splits: str = str(ROOT / "splits"),
    json_schema: bool = True,
) -> Task:
    """Questions about detective novels: a letter by rule, and the steps that a jury of ours can mark later.

    Args:
        split: `hub:NAMESPACE/NAME/SPLIT@VERSION`, or a split that was built here.
        setting: What is shown: `context` (the novel up to the answer), `question-only` or `evidence`.
        splits: Folder of the built splits.
        json_schema: Send the reply's JSON schema; false for endpoints that refuse one.
    """
    found = load_split(split, root=Path(splits))
    items = {item.id: item for item in found.items if isinstance(item, NovelQuestion)}
    if not items or setting not in get_args(NovelSetting):
        known = ", ".join(get_args(NovelSetting))
        raise ValueError(
            f"{split} has {len(items)} questions about novels and setting={setting}; take a split of them, and {known}"
        )
    prompt = Prompt(f"novel/{'zh' if found.manifest.language == 'zh' else 'en'}/solver")
    texts = None if setting == "question-only" else open_novels(found, root=Path(splits), ref=split, in_flight=2)
    asked = Questions(items, texts, setting, prompt, json_schema)
    samples = [
        Sample(
            id=item.id,
            input=item.question,
            choices=list(item.options),
            target=item.answer,
            metadata={"cluster": item.cluster, "category": item.category},
        )
        for item in items.values()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=found.manifest.ref),
        solver=asked.solver(),
        scorer=letter(),
        version=found.manifest.version,
        metadata={
            "split_sha256": found.manifest.sha256,
            "canary": found.manifest.canary,
            "condition": f"setting={setting}",
            "prompt_sha256": {"solver": prompt.sha256},
        },
    )


class Questions(NamedTuple):
    """What the solver of questions about novels needs."""

    items: Mapping[str, NovelQuestion]
    texts: Novels | None
    setting: NovelSetting
    prompt: Prompt
    json_schema: bool

    def solver(self) -> Solver:
        """Ask a question with what of its novel may be shown."""

        @solver
        def answer_question() -> Solver:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                return await self._solve(state)

            return solve

        return answer_question()

    async def _solve(self, state: TaskState) -> TaskState:
        item, model = self.items[str(state.sample_id)], get_model()
        paragraphs = self.texts.paragraphs(item.novel) if self.texts is not None else ()
        text = as_text(visible(item, paragraphs, setting=self.setting))
        messages = novel_messages(item, text, setting=self.setting, prompt=self.prompt)
        voice = Voice(model, json_schema=self.json_schema)
        asked = await ask(voice, messages, ChoiceReply, decoding=Decoding(temperature=model.config.temperature))
        # Without the prompt: the log has it once among its events, and a novel is long.
        state.messages = [chat(m) for m in asked.messages[len(messages) :]]
        state.output = voice.last
        return state


@scorer(metrics=[mean(), stderr(cluster="cluster")])
def letter() -> Scorer:
    """1 where the letter is the key's, 0 where not; no answer is not right."""

    async def score(state: TaskState, target: Target) -> Score:
        declined = state.output.stop_reason == "content_filter"
        said = None if declined else read_choice(state.output.completion)
        if said is None:
            return Score(value=0.0, answer="", explanation="no answer: it is not right, by rule")
        return Score(value=float(said.letter == target.text), answer=said.letter, explanation="\n".join(said.steps))

    return score


async def mark(item: Riddle, said: RiddleAnswer, model: Model, *, json_schema: bool) -> tuple[bool | None, str]:
    """Let one judge mark one answer: whether both parts are right (None: unreadable), and the judge's words."""
    messages = protocol.judge_messages(item, said, prompt=PROMPTS["judge"])
    voice = Voice(model, json_schema=json_schema)
    asked = await ask(voice, messages, protocol.JudgeReply, decoding=Decoding(temperature=model.config.temperature))
    if asked.value is None:
        return None, asked.reply.detail or "no verdict"
    return asked.value.is_answer_correct and asked.value.is_justification_correct, voice.last.completion


class Voice:
    """A model of Inspect as the one seam through which our solvers and judges ask."""

    def __init__(self, model: Model, *, json_schema: bool) -> None:
        self.last = ModelOutput()
        self._model = model
        self._json_schema = json_schema

    def __call__(
        self, messages: Sequence[Message], *, schema: type[Value] | None = None, again: int = 0
    ) -> Awaitable[Reply]:
        """Send `messages`; Inspect retries, and a call that fails for good is an error of its sample."""
        return self._ask(messages, schema)

    async def _ask(self, messages: Sequence[Message], schema: type[Value] | None) -> Reply:
        config = GenerateConfig()
        if schema is not None and self._json_schema:
            form = JSONSchema.model_validate(schema.model_json_schema())
            config.response_schema = ResponseSchema(name=schema.__name__, json_schema=form, strict=True)
        self.last = await self._model.generate([chat(m) for m in messages], config=config)
        if self.last.stop_reason == "content_filter":
            return Reply(failure="refused", detail="the model or its provider declined to answer")
        cut = self.last.stop_reason == "max_tokens"
        return Reply(text=self.last.completion, finish_reason="length" if cut else "stop")


def chat(message: Message) -> ChatMessage:
    """Write a message in Inspect's form, pictures with their bytes."""
    content: str | list[Content] = message.text
    if message.images:
        content = [ContentText(text=message.text)]
        for image in message.images:
            if image.data is not None:
                url = f"data:{image.media_type};base64,{b64encode(image.data).decode()}"
                content.append(ContentImage(image=url))
    kinds: dict[str, type[ChatMessageSystem] | type[ChatMessageUser] | type[ChatMessageAssistant]]
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return kinds[message.role](content=content)
