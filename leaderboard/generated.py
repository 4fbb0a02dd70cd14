"""The parts of a site that are made here and not by the site generator: pages by the thousand, data, pictures, feed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path

from evaluators.store import Store
from leaderboard.api import write_api
from leaderboard.contests import Contest
from leaderboard.downloads import downloads
from leaderboard.evidence import open_splits
from leaderboard.explorer import write_explorer
from leaderboard.feed import atom
from leaderboard.frame import Frame
from leaderboard.model_pages import Modelled, models, write_model_pages
from leaderboard.outputs import Outputs, digest
from leaderboard.pages import TEMPLATES, AnyBoard, environment
from leaderboard.part_files import write_parts
from leaderboard.records import History
from leaderboard.shown import visible
from leaderboard.social import card
from leaderboard.vega import LIBRARY, bundle, made_with

MANY_CARDS = 200  # from here on a second process pays


def write_generated(
    store: Store,
    boards: Sequence[AnyBoard],
    history: History,
    frames: Mapping[str, Frame],
    built: Path,
    *,
    paired: Sequence[Contest],
    old: Path | None,
    url: str | None,
) -> Outputs:
    """Write everything below a built frame.

    Args:
        store: What to show.
        boards: All boards.
        history: The results changelog.
        frames: From `take_frames`.
        built: The built site, filled further.
        paired: Rows that can be compared, of the boards that are not of riddles.
        old: The site of the last build; what is unchanged is taken over from it.
        url: Where the site will stand; None: unknown.
    """
    outputs = Outputs(built, old if old and old.is_dir() else None)
    templates = environment()
    code = _code()
    framed = {kind: digest(code, frame.text) for kind, frame in frames.items()}
    found = models(boards, history, paired, opened={(s.split, s.version) for s in open_splits(store)})
    with _cards(boards, found, outputs, code=code), downloads(store, outputs, code=code):
        write_model_pages(found, frames["models"], templates, outputs, code=framed["models"])
        write_explorer(store, boards, frames["items"], templates, outputs, code=framed["items"], shard_code=code)
        write_api(store, boards, paired, found, outputs, code=code)
        outputs.write(LIBRARY, digest(code, made_with()), bundle)
        write_parts(boards, outputs, code=code)
        outputs.write("feed.xml", digest(code, history, url), lambda: atom(history, site_url=url))
    _let_search_find(found, built)
    outputs.close()
    return outputs


def _code() -> str:
    """Digest of this room's code and templates: what another version made is made again."""
    sources = [*Path(__file__).parent.glob("*.py"), *TEMPLATES.iterdir()]
    return digest(*(path.read_bytes() for path in sorted(sources)))


@contextmanager
def _cards(boards: Sequence[AnyBoard], found: Sequence[Modelled], outputs: Outputs, *, code: str) -> Iterator[None]:
    """Write the pictures that links to pages are shared with; many are drawn in a second process as the block runs."""
    wanted = {}
    for board in boards:
        best = next((line for s in board.sections for line in s.ranked), None)
        facts = [(str(sum(len(s.ranked) for s in board.sections)), "ranked models")]
        facts += [(best.score, "best score")] if best else []
        wanted[f"cards/board-{board.split}.png"] = (board.title, facts, "leaderboard")
    for model in found:
        first = next((r for r in model.results if r.line.rank), model.results[0])
        rank = first.line.rank
        facts = [(first.line.score, "score"), (f"{first.line.interval[0]}–{first.line.interval[1]}", "95 % interval")]
        facts += [(f"{rank[0]}–{rank[1]}", f"rank of {first.rows}")] if rank else []
        wanted[f"cards/{model.slug}.png"] = (str(visible(model.name)), facts, first.board)
    sources = {name: digest(code, *about) for name, about in wanted.items()}
    missing = [name for name, source in sources.items() if not outputs.take_over(name, source)]
    with ExitStack() as stack:
        if len(missing) >= MANY_CARDS:
            pool = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
            drawn = pool.map(_card, [wanted[name] for name in missing], chunksize=20)
        else:
            drawn = map(_card, [wanted[name] for name in missing])
        yield
        for name, picture in zip(missing, drawn, strict=True):
            outputs.put(name, sources[name], picture)


def _card(about: tuple[str, Sequence[tuple[str, str]], str]) -> bytes:
    title, facts, kind = about
    return card(title, facts, kind=kind)


def _let_search_find(found: Sequence[Modelled], built: Path) -> None:
    """Put the models into the index that MkDocs wrote; the generator that follows it keeps its index elsewhere."""
    path = built / "search" / "search_index.json"
    if not path.exists():
        return
    index = json.loads(path.read_text(encoding="utf-8"))
    for model in found:
        said = ", ".join(r.board for r in model.results)
        entry = {"location": f"models/{model.slug}.html", "title": str(visible(model.name)), "text": said}
        # The theme shows titles as HTML.
        index["docs"].append({k: v.replace("&", "&amp;").replace("<", "&lt;") for k, v in entry.items()})
    path.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")
