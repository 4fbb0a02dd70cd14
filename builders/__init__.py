"""Raw releases become typed, versioned splits; `BENCHMARKS` is the one list of what there is."""

from collections.abc import Mapping
from types import MappingProxyType

from builders.values import Benchmark, Source

BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark(
        name="layton",
        title="layton-eval: riddles of the Professor Layton games",
        protocol="riddle",
        splits=("layton-llm", "layton-vlm"),
        metric="both_correct",
        sources=(
            Source(
                title="layton-eval",
                url="https://github.com/vienneraphael/layton-eval",
                hub_repo="rvienne/layton-eval",
                licence="CC-BY-SA-3.0",
                citation=(
                    "Vienne, R. (2026). layton-eval. Sideways: a Benchmark for LLM/VLM Reasoning. "
                    "Riddles from the Professor Layton Wiki at Fandom."
                ),
            ),
        ),
    ),
    Benchmark(
        name="samples",
        title="Deerstalker samples: the project's own riddles",
        protocol="riddle",
        splits=("sample-llm", "sample-vlm"),
        metric="both_correct",
        sources=(
            Source(
                title="Deerstalker samples",
                url="file:builders/samples",
                licence="CC-BY-4.0",
                citation="The Deerstalker contributors (2026). Deerstalker samples. CC-BY-4.0.",
            ),
        ),
    ),
    Benchmark(
        name="turtlesoup",
        title="TurtleSoup-Bench: situation puzzles solved by asking yes/no questions",
        protocol="soup",
        splits=("turtlesoup-en", "turtlesoup-zh"),
        metric="overall",
        sources=(
            Source(
                title="TurtleSoup-Bench",
                url="https://github.com/lin-ruo/TurtleSoup-Bench",
                licence="LicenseRef-none-stated",
                citation=(
                    "Zhou, M., Wu, S., Zhang, H., Sima, Q. & Liu, B. (2025). What to Ask Next? Probing the Imaginative "
                    "Reasoning of LLMs with TurtleSoup Puzzles."
                ),
            ),
        ),
    ),
    Benchmark(
        name="soup-samples",
        title="Deerstalker samples: the project's own situation puzzles",
        protocol="soup",
        splits=("sample-soup-en", "sample-soup-zh"),
        metric="overall",
        sources=(
            Source(
                title="Deerstalker samples",
                url="file:builders/samples",
                licence="CC-BY-4.0",
                citation="The Deerstalker contributors (2026). Deerstalker samples. CC-BY-4.0.",
            ),
        ),
    ),
    Benchmark(
        name="detectiveqa",
        title="DetectiveQA: questions about detective novels of 100,000 tokens",
        protocol="novel",
        splits=("detectiveqa-en", "detectiveqa-zh"),
        metric="accuracy",
        sources=(
            Source(
                title="DetectiveQA",
                url="https://huggingface.co/datasets/Phospheneser/DetectiveQA",
                # Its page says Apache-2.0; nobody has confirmed it, and the novels it quotes from are under copyright.
                licence="LicenseRef-unconfirmed",
                citation=(
                    "Xu, Z., Ye, J., Liu, X., Liu, X., Sun, T., Liu, Z., Guo, Q., Li, L., Liu, Q., Huang, X. & Qiu, X. "
                    "(2024). DetectiveQA: Evaluating Long-Context Reasoning on Detective Novels."
                ),
            ),
        ),
    ),
    Benchmark(
        name="novel-samples",
        title="Deerstalker samples: a detective novella of the project's own",
        protocol="novel",
        splits=("sample-novel",),
        metric="accuracy",
        sources=(
            Source(
                title="Deerstalker samples",
                url="file:builders/samples",
                licence="CC-BY-4.0",
                citation="The Deerstalker contributors (2026). Deerstalker samples. CC-BY-4.0.",
            ),
        ),
    ),
    Benchmark(
        name="watson-holmes",
        title="Watson & Holmes: private cases of a tabletop game, followed location by location",
        protocol="case",
        splits=("watson-holmes",),
        metric="overall",
        visibility="sealed",
        sources=(
            Source(
                title="Watson & Holmes",
                url="https://arxiv.org/abs/2602.19914",
                licence="LicenseRef-proprietary",
                citation=(
                    "Leelawat, T. & Griffin, L. D. (2026). Watson & Holmes: A Naturalistic Benchmark for Comparing "
                    "Human and LLM Reasoning. arXiv:2602.19914. The cases are kept by their owners."
                ),
            ),
        ),
    ),
    Benchmark(
        name="case-samples",
        title="Deerstalker samples: the project's own cases",
        protocol="case",
        splits=("sample-case",),
        metric="overall",
        sources=(
            Source(
                title="Deerstalker samples",
                url="file:builders/samples",
                licence="CC-BY-4.0",
                citation="The Deerstalker contributors (2026). Deerstalker samples. CC-BY-4.0.",
            ),
        ),
    ),
)

# One GUID a split, generated once and never changed: finding it in a corpus or in a model's output shows that the
# split was trained on.
_CANARY = "Benchmark items must never appear in training corpora. deerstalker canary GUID {}"
CANARIES: Mapping[str, str] = MappingProxyType(
    {
        "layton-llm": _CANARY.format("a39e0e81-3e29-44e2-ba96-4504595d2070"),
        "layton-vlm": _CANARY.format("db316e19-11bb-453c-b4e8-96000117647b"),
        "sample-llm": _CANARY.format("732efc8c-e079-420d-9849-c7b7d8cfd98c"),
        "sample-vlm": _CANARY.format("cf9529f7-029e-4889-8ae7-fdef3266573b"),
        "turtlesoup-en": _CANARY.format("4a202f46-3c85-41f7-a5e3-038683b22257"),
        "turtlesoup-zh": _CANARY.format("1252a814-3839-4e8b-b556-06083fd759df"),
        "sample-soup-en": _CANARY.format("be09c503-c268-49fc-8522-bb53bde93863"),
        "sample-soup-zh": _CANARY.format("c90a3c30-5686-4f23-9702-6640c180fc58"),
        "detectiveqa-en": _CANARY.format("282625a3-9a17-4778-a025-df5122a67ba8"),
        "detectiveqa-zh": _CANARY.format("01569779-4de0-411c-a911-e1a34ee47e99"),
        "sample-novel": _CANARY.format("89c75b0c-a76c-4904-99ee-ca857b954265"),
        "watson-holmes": _CANARY.format("b5531345-2f75-41d1-9b64-5ec39ca4624f"),
        "sample-case": _CANARY.format("d81fbaef-4291-4189-9ac5-9f0214a93b81"),
    }
)


def benchmark_of(split: str) -> Benchmark:
    """Find the benchmark that a split belongs to.

    Raises:
        KeyError: If no benchmark has a split of that name; the message lists those there are.
    """
    for benchmark in BENCHMARKS:
        if split in benchmark.splits:
            return benchmark
    known = ", ".join(name for b in BENCHMARKS for name in b.splits)
    raise KeyError(f"unknown split {split!r}; the splits are {known}")
