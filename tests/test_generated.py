"""The parts of the site that are made here: standings that are kept, pages by the thousand, data, feed, checks."""

import gzip
import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import duckdb
import jsonschema
import numpy as np
import pytest

from builders import CANARIES
from builders.sealed import seal_split
from evaluators.bundle import read_bundle
from evaluators.fit import fit_split
from evaluators.store import Store, open_store
from leaderboard import standings
from leaderboard.api import DOCUMENTS
from leaderboard.boards import boards
from leaderboard.build import MARK, Options, SiteError, build_site
from leaderboard.checks import check_site
from leaderboard.downloads import QUERIES
from leaderboard.evidence import items, open_splits, page_of, shards, slug
from leaderboard.feed import ATOM, atom
from leaderboard.frame import Frame
from leaderboard.leaks import Unpublished, find_leaks, registered, unpublished_of
from leaderboard.outputs import MANIFEST, Outputs
from leaderboard.records import History, Record
from leaderboard.social import card
from leaderboard.vega import Point, bundle, document, drawn, frontier, log_ticks, score_layers
from tests import bench_store
from tests.made_board import ARABIC, HOSTILE, IMAGE, RTL, fill
from tests.made_runs import made_run
from tests.made_sealed import cases, key, secret
from tests.made_soup import write_made_games


def quick(data: object) -> object:
    """A joint fit that ends early: what pages do with a fit does not hang on how far its chains came."""
    return fit_split(data, draws=200, max_sweeps=200)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("store") / "s.duckdb") as opened:
        fill(opened)
        yield opened


@pytest.fixture(scope="module")
def site(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "out"
    return build_site(store, out, fit=quick, options=Options(repository="owner/name")).parent  # type: ignore[arg-type]


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the splits that are estimated from here on."""
    seen: list[str] = []
    whole = standings.rows

    def rows(store: Store, split: str, version: str, jury: str) -> object:
        seen.append(split)
        return whole(store, split, version, jury)

    monkeypatch.setattr(standings, "rows", rows)
    return seen


def test_only_boards_with_new_rows_are_estimated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = counting(monkeypatch)
    with open_store(tmp_path / "s.duckdb") as store:
        for split in ("layton-llm", "layton-vlm"):
            store.write_submission(*made_run(f"a-{split}", ["3+", "0-"] * 4, split=split), tier="scored-here")
        first = boards(store)
        assert seen == ["layton-llm", "layton-vlm"]
        assert boards(store) == first
        assert seen == ["layton-llm", "layton-vlm"], "a second build estimates nothing"
        store.write_submission(*made_run("b", ["3+", "0-"], provider="other", split="layton-vlm"), tier="scored-here")
        assert {b.split: len(b.sections[0].ranked) for b in boards(store)} == {"layton-llm": 1, "layton-vlm": 2}
        assert seen == ["layton-llm", "layton-vlm", "layton-vlm"]
        store.remove_submission("b")
        assert next(b for b in boards(store) if b.split == "layton-vlm") == first[1]


def test_what_other_code_estimated_is_not_taken_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_submission(*made_run("a", ["3+", "0-"] * 4), tier="scored-here")
        boards(store)
        seen = counting(monkeypatch)
        changed = tmp_path / "lsre.py"
        changed.write_text("another estimator")
        monkeypatch.setattr(standings, "CODE", (*standings.CODE, changed))
        boards(store)
    assert seen == ["layton-llm"]


def test_kept_leads_are_those_of_the_kept_draws(tmp_path: Path) -> None:
    """Lead and interval of each row are mean and quantiles of its draws less the leader's, draw by draw."""
    with open_store(tmp_path / "s.duckdb") as store:
        for n, votes in enumerate((["3+"] * 20 + ["0-"] * 5, ["3+", "0-"] * 12, ["0-"] * 20 + ["3+"] * 5)):
            store.write_submission(*made_run(f"m{n}", votes, provider=f"p{n}"), tier="scored-here")
        (board,) = boards(store)
    lines = board.sections[0].ranked
    leader = lines[0].place
    assert leader is not None
    assert (leader.lead, leader.low, leader.high) == (0, 0, 0)
    for line in lines[1:]:
        assert line.place is not None
        lead = line.place.drawn()[0] - leader.drawn()[0]
        assert line.place.lead == pytest.approx(lead.mean(), abs=2e-3)
        assert line.place.low < line.place.lead < line.place.high
        assert np.quantile(lead, 0.025, method="inverted_cdf") == pytest.approx(line.place.low, abs=2e-2)


def test_the_site_passes_its_checks_and_is_byte_identical_twice(site: Path, store: Store, tmp_path: Path) -> None:
    assert check_site(site) == []
    again = build_site(
        store,
        tmp_path / "other",
        fit=quick,
        options=Options(repository="owner/name"),  # type: ignore[arg-type]
    ).parent
    first, second = files(site), files(again)
    # DuckDB's own file holds random bytes: equal tables, not equal bytes.
    del first["data/results.duckdb"], second["data/results.duckdb"]
    assert second == first
    with duckdb.connect(str(site / "data/results.duckdb"), read_only=True) as connection:
        connection.execute(f"ATTACH '{again}/data/results.duckdb' AS other (READ_ONLY)")
        for (table,) in connection.execute("SELECT DISTINCT table_name FROM duckdb_tables()").fetchall():
            left = connection.execute(f"FROM results.{table} EXCEPT ALL FROM other.{table}").fetchall()
            right = connection.execute(f"FROM other.{table} EXCEPT ALL FROM results.{table}").fetchall()
            assert left == right == [], table


def test_a_new_submission_rebuilds_only_what_it_touches(tmp_path: Path) -> None:
    out = tmp_path / "site"
    with open_store(tmp_path / "s.duckdb") as store:
        bench_store.fill(store, 42, 3, ("sample-llm",))
        bench_store.fill(store, 1, 3, ("sample-vlm",))
        bench_store.fill_board(store, "sample-vlm", range(100, 103), 3)
        before = build_site(store, out, fit=lambda _: None).parent
        kept = {name: (before / name).stat().st_ino for name in files(before)}
        bench_store.fill_board(store, "sample-llm", range(650, 651), 3)
        after = build_site(store, out, fit=lambda _: None).parent
        whole = build_site(store, tmp_path / "whole", fit=lambda _: None).parent
        same = {name for name in files(after) if (after / name).stat().st_ino == kept.get(name)}
        mine, theirs = files(after), files(whole)
        del mine["data/results.duckdb"], theirs["data/results.duckdb"]
        assert mine == theirs, "what was taken over is what a whole build makes"
    shard = re.compile(r"items/.*-\d+\.json")
    assert {n for n in files(after) if n.startswith("items/sample-vlm")} <= same
    touched = {n for n in files(after) if shard.fullmatch(n)} - same
    assert touched == {f"items/sample-llm-1.0.0/sample-llm-00{n}-1.json" for n in range(3)}
    assert len([n for n in same if n.startswith("models/")]) == 3, "those that stand on the other board alone"
    assert len([n for n in same if n.startswith("cards/maker")]) == 3


def test_every_document_of_the_api_fits_its_schema(site: Path) -> None:
    schema = json.loads((site / "api/v1/schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    kinds = {"index.json": "index", "compare/*.json": "compare", "compare/*/*.json": "draws", "models/*.json": "model"}
    for pattern, kind in kinds.items():
        found = sorted((site / "api/v1").glob(pattern))
        assert found, pattern
        for path in found:
            document = json.loads(path.read_text())
            own = {"$ref": f"#/$defs/{DOCUMENTS[kind].__name__}", "$defs": schema["$defs"]}
            jsonschema.validate(document, own)
            for other in (document | {"more": 1}, dict(list(document.items())[1:])):
                with pytest.raises(jsonschema.ValidationError):
                    jsonschema.validate(other, own)


def test_the_example_queries_run_on_the_download_and_find_something(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        for n, votes in enumerate((["3+", "2+", "1-"] * 4, ["3+", "0-", "2-"] * 4)):
            store.write_submission(*made_run(f"m{n}", votes, provider=f"p{n}"), tier="scored-here")
        site = build_site(store, tmp_path / "out").parent
    page = (site / "data.html").read_text()
    with duckdb.connect(str(site / "data/results.duckdb"), read_only=True) as connection:
        found = [connection.execute(query).fetchall() for _, query in QUERIES]
        tables = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
        for table in tables:
            stored = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
            parquet = connection.execute(f"SELECT count(*) FROM '{site}/data/{table}.parquet'").fetchone()
            assert stored == parquet, table
    assert len(found[0]) == 2, "one row for each model, with its ranks"
    assert [row[1] for row in found[1]] == [2] * 12, "two answers to each of twelve items"
    assert {row[0] for row in found[2]} == {"a", "b", "c"}, "each of the three judges"
    for _, query in QUERIES:
        assert query.splitlines()[0].replace(">", "&gt;").replace("'", "&#39;") in page


def test_nothing_of_a_sealed_split_is_shown_item_by_item(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        bench_store.fill(store, 2, 3, ("sample-llm",))
        (manifest,) = store.splits()
        sealed = manifest.model_copy(update={"visibility": "sealed"}).model_dump_json()
        store.query("UPDATE splits SET manifest = ?", [sealed])
        assert open_splits(store) == ()
        site = build_site(store, tmp_path / "out", fit=quick).parent  # type: ignore[arg-type]
    secret = b"number is hidden in this line"
    assert not (site / "items").exists()
    assert not [name for name, data in files(site).items() if secret in data or b"sample-llm-002" in data]
    with duckdb.connect(str(site / "data/results.duckdb"), read_only=True) as connection:
        for table in ("transcripts", "verdicts", "scores", "labels", "items", "puzzles"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
        assert connection.execute("SELECT count(*) FROM submissions").fetchone() == (2,)
    (head,) = (site / "api/v1/compare").glob("*.json")
    assert json.loads(head.read_text())["items"] == []


def test_what_was_said_of_items_that_may_not_be_passed_on_is_nowhere_and_its_numbers_are(tmp_path: Path) -> None:
    games = read_bundle(write_made_games(tmp_path))
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_submission(games.submission, games.transcripts, games.verdicts, tier="scored-here")
        (split,) = open_splits(store)
        assert not split.told, "its puzzles are not in the store"
        site = build_site(store, tmp_path / "out").parent
    words = {"a reconstruction": ("transcripts", "answer"), "a judge's reply": ("verdicts", "reply")}
    with duckdb.connect(str(site / "data/results.duckdb"), read_only=True) as connection:
        for what, (table, column) in words.items():
            found = connection.execute(f"SELECT count(*), count({column}) FROM {table}").fetchone()
            assert found is not None
            assert found[0] > 0, f"{table} has its rows"
            assert found[1] == 0, what
        assert connection.execute("SELECT count(*) FROM games").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM scores").fetchone() != (0,)
    said = re.compile(r"It was clue \d+\.|Is it \d+\?")
    assert not [name for name, data in files(site).items() if said.search(data.decode(errors="replace"))]


def leaky(store: Store, said: str) -> None:
    """One more row, whose answer says what must not be published."""
    run = made_run("leaky", ["3+"], provider="x")
    answer = run.transcripts[0].answer
    assert answer is not None
    told = run.transcripts[0].model_copy(update={"answer": answer.model_copy(update={"answer": said})})
    store.write_submission(run.submission, (told, *run.transcripts[1:]), run.verdicts, tier="scored-here")


def test_a_build_never_publishes_what_must_not_leave(tmp_path: Path) -> None:
    """Found wherever an answer goes: the page of the item, its file of answers and the table of attempts."""
    _, recipient = key(tmp_path / "keys", "one")
    sealed, _ = seal_split(cases(), [recipient])
    assert sealed.seal is not None
    said = (CANARIES["layton-llm"], "hf_" + "a" * 34, sealed.seal.items[0].id, f"It says: {secret('text1').upper()}!")
    out, keep_out = tmp_path / "out", unpublished_of([cases()])
    with open_store(tmp_path / "s.duckdb") as store:
        store.write_split(sealed, ())
        leaky(store, "an answer like any other")
        before = files(build_site(store, out, fit=lambda _: None, keep_out=keep_out).parent)
        for one, kind in zip(said, ("a canary or an id", "a secret key", "a canary or an id", "8 words"), strict=True):
            leaky(store, one)
            with pytest.raises(SiteError, match=f"3 faults.*nothing was replaced.*{kind}") as error:
                build_site(store, out, fit=lambda _: None, keep_out=keep_out)
            assert re.findall(r"((?:data|items)/[\w./-]+): ", str(error.value)) == [
                "data/transcripts.parquet",
                "items/layton-llm-1.0.0/r-000-0.json",
                "items/layton-llm-1.0.0/r-000.html",
            ]
            assert one not in str(error.value)
    assert files(out / "_build") == before


def test_what_was_taken_over_is_searched_again_for_what_is_new(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with open_store(tmp_path / "s.duckdb") as store:
        leaky(store, secret("text1"))
        build_site(store, out, fit=lambda _: None)
        with pytest.raises(SiteError, match="8 words in a row"):
            build_site(store, out, fit=lambda _: None, keep_out=unpublished_of([cases()]))


def test_what_is_packed_is_searched_and_a_manifest_may_name_its_canary(site: Path, store: Store) -> None:
    assert store.splits(), "so its manifest is in the download"
    assert not list(find_leaks(site, registered(store.splits())))
    held = {leak.path.removeprefix(f"{site}/") for leak in find_leaks(site, Unpublished(frozenset({"plain-model"})))}
    assert {"data/results.duckdb", "data/submissions.parquet", "data/layton-llm.parquet", "layton-llm.html"} <= held


def test_shards_hold_every_vote_and_their_texts_are_bounded(store: Store) -> None:
    split = next(s for s in open_splits(store) if s.split == "layton-llm")
    listed = items(store, split)
    rows = [row for _, _, text in shards(store, split, listed, [0]) for row in json.loads(text)["rows"]]
    assert len(rows) == sum(r.attempts for r in listed) + self_reported(store, split)
    talk = next(r for r in rows if r[1].startswith("talk/"))
    assert [vote[:4] for vote in talk[9]] == [
        ["a", "model", 1.0, None],
        ["b", "model", 1.0, None],
        ["c", "model", 1.0, None],
        ["human-1", "human", 1.0, None],
    ]
    assert RTL in talk[7]


def self_reported(store: Store, split: object) -> int:
    query = """SELECT count(*) FROM transcripts JOIN submissions USING (submission_id)
        WHERE split = 'layton-llm' AND tier = 'self-reported'"""
    found = store.query(query).fetchone()
    assert found
    return int(found[0])


def test_a_page_of_an_item_loads_in_under_300_kb_however_many_models_there_are(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.duckdb") as store:
        bench_store.fill(store, 200, 1, ("sample-llm",))
        site = build_site(store, tmp_path / "out", fit=lambda _: None).parent
    page = site / "items/sample-llm-1.0.0/sample-llm-000.html"
    shown = sum(p.stat().st_size for p in (page, page.with_name("sample-llm-000-0.json")))
    scripts = sum(p.stat().st_size for p in (site / "assets").glob("*.js"))
    assert shown + scripts < 300_000
    assert len(list(page.parent.glob("sample-llm-000-*.json"))) == 5


def test_hostile_names_and_answers_are_text_on_every_generated_page(site: Path) -> None:
    names = {slug(name) for name in HOSTILE}
    assert names <= {p.stem for p in (site / "models").glob("*.html")}
    for path in [*(site / "models").glob("*.html"), *(site / "items").rglob("*.html")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"<img|alert\(1\)</script>|href=.javascript|9\*1234567 \}\}</div>|11111103", text), path
        assert not set(RTL + "\u061c") & set(text) - set("gnihto"), path
    page = (site / f"models/{slug(ARABIC)}.html").read_text(encoding="utf-8")
    assert "[U+061C]" in page
    assert "<title>" in page


def test_a_mark_in_a_name_is_not_filled_in() -> None:
    frame = Frame("<title>@@title@@</title><a href='x/frame.html'>@@body@@", "x/frame.html")
    filled = frame.fill("x/y.html", {"title": "@@body@@", "body": "@@title@@"})
    assert filled == "<title>@@body@@</title><a href='x/y.html'>@@title@@"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<a href="nowhere.html">x</a>', "which is not there"),
        ('<a href="index.html#nowhere">x</a>', "no such place"),
        ('<a href="javascript:alert(1)">x</a>', "of the kind 'javascript'"),
        ("<img src=x onerror=alert(1)>", "could run"),
        ('<b onclick="x()">x</b>', "could run"),
        ("<b>\u202ex</b>", "U+202E"),
    ],
)
def test_checks_find_what_they_look_for(tmp_path: Path, body: str, said: str) -> None:
    (tmp_path / "index.html").write_text(f'<article><div class="ds-board">{body}</div></article>', encoding="utf-8")
    (fault,) = check_site(tmp_path)
    assert said in fault.what


def test_a_number_that_stands_in_no_data_file_is_found(site: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(site, tmp_path / "site")
    page = tmp_path / "site/layton-llm.html"
    text, count = re.subn(r'(ds-score" data-label="Score">)[\d.]+<', r"\g<1>99.9<", page.read_text(), count=1)
    assert count == 1
    page.write_text(text)
    (fault,) = check_site(tmp_path / "site")
    assert fault.page == "layton-llm.html"
    assert "99.9" in fault.what


def test_a_site_with_faults_never_takes_the_place_of_one_without(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from leaderboard import build
    from leaderboard.checks import Fault

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARK).touch()
    monkeypatch.setattr(build, "check_site", lambda _, **__: [Fault("index.html", "a fault")])
    with pytest.raises(SiteError, match=r"1 faults.*index\.html: a fault"):
        build_site(store, tmp_path / "out", fit=lambda _: None)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [MARK]


def test_the_feed_lists_changes_newest_first_and_names_in_it_are_text() -> None:
    records = [
        Record(action="rejudged", date="2026-11-20", subject="a", becomes="b", model=IMAGE, reason="judged"),
        Record(action="withdrawn", date="2026-11-21", subject="b", reason=f"asked for {IMAGE}"),
    ]
    text = atom(History(tuple(records)), site_url="https://example.org/")
    feed = ET.fromstring(text)
    titles = [e.findtext(f"{{{ATOM}}}title") for e in feed.findall(f"{{{ATOM}}}entry")]
    assert titles == ["withdrawn: b", f"rejudged: {IMAGE}"]
    assert feed.findtext(f"{{{ATOM}}}updated") == "2026-11-21T00:00:00Z"
    assert "<img" not in text


def test_models_and_items_never_share_a_page() -> None:
    names = ["a/b", "a-b", "A/B", "a b", "عربي", "😀", "😁", "", "a" * 100, "a" * 101]
    assert len({slug(name) for name in names}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9.-]+", slug(name)) for name in names)
    assert len({page_of(i) for i in ("en/a/1", "en-a-1", "en/a-1")}) == 3


def test_the_frontier_is_what_nothing_cheaper_reaches() -> None:
    points = [Point(x, y, y - 1, y + 1, f"{x}") for x, y in ((1, 50), (2, 40), (3, 70), (3, 60), (4, 70), (5, 71))]
    assert [(p.x, p.score) for p in frontier(points)] == [(1, 50), (3, 70), (5, 71)]


def test_names_in_a_drawing_are_text_and_the_drawing_says_what_it_is() -> None:
    points = [Point(x, 10 * x, 10 * x - 5, 10 * x + 5, name) for x, name in enumerate((IMAGE, "</svg><script>"), 1)]
    layers = score_layers(points, x_title="US dollars", domain=(0, 30))
    svg = str(drawn(layers, said="2 models: score against US dollars"))
    ET.fromstring(svg)
    assert "<img" not in svg
    assert "<script" not in svg
    assert "&lt;img src=x" in svg
    assert 'role="img" aria-label="2 models' in svg


def test_numbers_in_names_stay_as_they_are_where_those_of_lines_are_rounded() -> None:
    points = [Point(0.0021, 50, 40, 60, "gpt-5.12345"), Point(0.13, 70, 65, 75, "b")]
    svg = str(drawn(score_layers(points, x_title="US dollars", domain=(0, 100)), said="s"))
    assert ">gpt-5.12345<" in svg
    assert not re.search(r'="[^"]*\d\.\d{3}', svg)


def test_prices_get_round_marks() -> None:
    assert log_ticks(0.0021, 0.13) == [0.005, 0.01, 0.02, 0.05, 0.1]
    assert log_ticks(0.00002, 90) == [0.0001, 0.001, 0.01, 0.1, 1, 10]
    assert log_ticks(0.011, 0.012) == [0.011, 0.012], "no round one lies between"


def test_the_document_of_a_chart_has_tooltips_and_links_and_asks_for_nothing() -> None:
    points = [Point(0.1, 50, 40, 60, IMAGE, href="models/a.html"), Point(0.2, 70, 65, 75, "b", href="models/b.html")]
    found = json.loads(document(score_layers(points, x_title="US dollars", domain=(0, 100)), [("name", "model", "")]))
    (dots,) = [layer for layer in found["layer"] if layer.get("name") == "dots"]
    assert dots["encoding"]["href"] == {"field": "href"}
    assert dots["encoding"]["tooltip"] == [{"field": "name", "title": "model"}]
    assert [v["name"] for v in dots["data"]["values"]] == [IMAGE, "b"]
    assert all("url" not in layer.get("data", {}) for layer in found["layer"])


def test_the_library_of_charts_is_the_same_at_each_build_and_leaves_one_name() -> None:
    text = bundle()
    assert text == bundle.__wrapped__()
    assert text.count("window.vegaEmbed") == 1
    assert not re.search(r"window\.vega(Lite)?\s*=", text)
    assert len(gzip.compress(text.encode(), 6)) < 320_000


def test_a_card_is_a_picture_of_the_size_that_others_expect() -> None:
    from io import BytesIO

    from PIL import Image

    made = card(f"{IMAGE} {ARABIC} {'w' * 300} 😀", [("86.0", "score"), ("1–5", "rank")], kind="board")
    with Image.open(BytesIO(made)) as image:
        assert image.size == (1200, 630)
    assert made == card(f"{IMAGE} {ARABIC} {'w' * 300} 😀", [("86.0", "score"), ("1–5", "rank")], kind="board")
    assert len(made) < 60_000


def test_a_file_that_is_gone_is_made_again(tmp_path: Path) -> None:
    old, new = tmp_path / "a/built", tmp_path / "b/built"
    for folder in (old, new):
        folder.mkdir(parents=True)
    first = Outputs(old)
    first.write("x.txt", "1", lambda: "one")
    first.close()
    (old / "x.txt").unlink()
    second = Outputs(new, old)
    second.write("x.txt", "1", lambda: "one")
    assert ((new / "x.txt").read_text(), second.written, second.taken) == ("one", 1, set())
    assert (old.parent / MANIFEST).exists()


def test_zensical_builds_the_same_site_from_the_same_configuration(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="zensical is not installed")
    options = Options(repository="owner/name", generator="zensical", url="https://example.org/board/")
    site = build_site(store, tmp_path / "out", fit=lambda _: None, options=options).parent
    assert check_site(site, root="/board/") == []
    page = (site / "layton-llm.html").read_text(encoding="utf-8")
    assert "plain-model" in page
    assert "@@" not in page
    assert 'content="https://example.org/board/cards/board-layton-llm.png"' in unescape(page)
    assert IMAGE.replace("<", "&lt;").replace(">", "&gt;") in (site / f"models/{slug(IMAGE)}.html").read_text()
