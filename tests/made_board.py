"""A store with every kind of row, hostile names among them, that the tests of pages and site use."""

from evaluators.store import Store
from evaluators.values import RiddleAnswer
from leaderboard.published import read_published
from tests.made import made_split
from tests.made_runs import Run, made_run

IMAGE = "<img src=x onerror=alert(1)>"
LINK = "**bold** [click](javascript:alert(1)) `c` | # h"
LONG = "w" * 200
ARABIC = "عربي/نموذج \u061cdcba"
TEMPLATE = "{{ 9*1234567 }}{% raw %}</div></section><script>alert(1)</script>"
FORMULA = '=HYPERLINK("http://evil.example","x")'
EMOJI = "🕵️‍♀️-1"
RTL = "\u202egnihton\u202c"
HOSTILE = (IMAGE, LINK, LONG, ARABIC, TEMPLATE, FORMULA)


def spoken(name: str, attempts: list[str]) -> Run:
    """A run whose answers, and whose judges, say what a page must never run."""
    run = made_run(name, attempts, provider="talk", model=f"talk/{EMOJI}", cost_usd=0.2, open_weights=True)
    said = RiddleAnswer(answer=f"{IMAGE} {RTL}", justification=f"{LINK} {TEMPLATE}")
    transcripts = tuple(t.model_copy(update={"answer": said}) for t in run.transcripts)
    verdicts = tuple(v.model_copy(update={"reply": f"{TEMPLATE} {RTL}"}) for v in run.verdicts)
    return Run(run.submission, transcripts, verdicts)


def fill(store: Store) -> None:
    """Put released, own, self-reported, sample and published rows into a store."""
    for n, name in enumerate(HOSTILE):
        attempts = ["3+", "0-", "3", "1", "2+", "none", "fail"][n % 3 :] * 3
        url = "javascript:alert(1)" if n % 2 else "https://models.example/m"
        run = made_run(f"h{n}", attempts, model=name, provider=f"p{n}", url=url, note=name, contamination=name)
        store.write_submission(*run, tier="released" if n < 4 else "self-reported")
    many = made_run("many", ["3+"] * 40 + ["0-"] * 10, provider="q", model="plain-model")
    store.write_submission(*many, tier="scored-here")
    store.write_submission(*spoken("talker", ["3+", "1-", "2"] * 6), tier="rejudged")
    sample = {"split": "sample-llm", "benchmark": "samples", "jury": "tiny"}
    store.write_submission(*made_run("tiny", ["0", "3", "none"], **sample), tier="scored-here")
    gold = made_run("gold", ["3+", "0-"], kind="gold", provider="authors", labels="author", **sample)
    store.write_submission(*gold, tier="scored-here")
    split = made_split()
    store.write_split(split.manifest, split.items)
    store.write_published(read_published())
