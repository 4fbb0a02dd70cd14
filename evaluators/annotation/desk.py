"""The desk itself: a web application for one annotator on loopback, and nobody else.

A page from elsewhere can neither read nor write: the Host must be loopback, the key that the terminal prints becomes a
SameSite cookie, every change carries a token of the page, and nothing allows other origins.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import ValidationError

from builders.values import Value
from evaluators.annotation.labels import Label, Notebook
from evaluators.annotation.queue import Attempt
from evaluators.annotation.sheets import Field, Sheet

HOME = Path(__file__).parent
COOKIE = "desk"
MOST_BYTES = 65_536
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Said(Value):
    """What the page sends at every key."""

    place: int
    values: dict[str, float]
    notes: str = ""
    seconds: float = 0.0
    act: str


class Desk:
    """One annotator, their queue and their notebook.

    Args:
        queue: What to label, in order.
        sheets: The sheet of each.
        notebook: Where labels are written.
        annotator: Who labels.
        key: What the address that the terminal prints ends with.
    """

    def __init__(
        self, queue: Sequence[Attempt], sheets: Sequence[Sheet], notebook: Notebook, *, annotator: str, key: str
    ) -> None:
        self._queue, self._sheets, self._notebook = queue, sheets, notebook
        self._annotator, self._key, self._token = annotator, key, secrets.token_urlsafe(24)
        environment = Environment(loader=FileSystemLoader(HOME), autoescape=True, undefined=StrictUndefined)
        self._page = environment.get_template("page.html.jinja")

    def application(self) -> web.Application:
        """The application, to be run on loopback."""
        application = web.Application(client_max_size=MOST_BYTES, middlewares=[self._guard])
        application.router.add_get("/", self._show)
        application.router.add_get("/image/{place:[0-9]{1,6}}", self._image)
        application.router.add_get("/desk.css", _file("desk.css", "text/css"))
        application.router.add_get("/desk.js", _file("desk.js", "text/javascript"))
        application.router.add_post("/save", self._save)
        return application

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let nobody in but the annotator's own browser."""
        given = request.query.get("key")
        wrong = _stranger(request)
        if wrong is None and request.path == "/" and given is not None and _same(given, self._key):
            into = web.Response(status=303, headers={"Location": "/", **HEADERS})
            into.set_cookie(COOKIE, self._key, httponly=True, samesite="Strict", path="/")
            return into
        if wrong is None and not _same(request.cookies.get(COOKIE, ""), self._key):
            wrong = 403, "open the address that the terminal printed, with its key"
        token = request.headers.get("X-Desk-Token", "")
        if wrong is None and request.method == "POST" and not _same(token, self._token):
            wrong = 403, "the page is of an earlier desk: load it again"
        if wrong is not None:
            return _refused(*wrong)
        try:
            response = await handler(request)
        except web.HTTPException as error:
            return _refused(error.status, error.reason)
        response.headers.update(HEADERS)
        return response

    async def _show(self, request: web.Request) -> web.Response:
        asked = request.query.get("at", "")
        place = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 7 else self._next(0)
        inside = place < len(self._queue)
        label = self._label(place) if inside else None
        values = _values(label)
        states = [found.state for n in range(len(self._queue)) if (found := self._label(n)) is not None]
        text = self._page.render(
            token=self._token,
            place=min(place, len(self._queue) - 1),
            total=len(self._queue),
            done=states.count("done"),
            skipped=states.count("skipped"),
            annotator=self._annotator,
            split=self._queue[0].transcript.split,
            sheet=self._sheets[place] if inside else None,
            label=label,
            choices=choices,
            value=values.get,
        )
        return web.Response(text=text, content_type="text/html")

    async def _image(self, request: web.Request) -> web.Response:
        place = int(request.match_info["place"])
        image = self._sheets[place].image if place < len(self._sheets) else None
        if image is None:
            raise web.HTTPNotFound
        kind = "image/png" if image.startswith(b"\x89PNG") else "image/jpeg"
        return web.Response(body=image, content_type=kind)

    async def _save(self, request: web.Request) -> web.Response:
        try:
            said = Said.model_validate_json(await request.read())
            label = self._label_of(said)
        except (ValidationError, ValueError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            return web.json_response({"error": first}, status=400)
        try:
            self._notebook.put(label)
        except OSError as error:
            return web.json_response({"error": f"cannot be written: {error.strerror}"}, status=500)
        return web.json_response({"next": self._next(said.place + 1)})

    def _label_of(self, said: Said) -> Label:
        if not 0 <= said.place < len(self._queue):
            raise ValueError(f"there is no answer {said.place}")
        fields = {f.name: f for f in self._sheets[said.place].fields}
        for name, value in said.values.items():
            if name not in fields or value not in {level for level, _ in choices(fields[name])}:
                raise ValueError(f"{name} cannot be {value:g}")
        if said.act == "done" and (open_ones := [n for n in fields if n not in said.values]):
            raise ValueError(f"{len(open_ones)} question(s) have no answer yet; answer or skip")
        before = self._label(said.place)
        attempt = self._queue[said.place].transcript
        # Looking again at a finished label does not open it; changing it does.
        kept = before is not None and before.state != "open" and said.act == "open" and _values(before) == said.values
        return Label(
            split=attempt.split,
            item_id=attempt.item_id,
            transcript_id=attempt.transcript_id,
            annotator=self._annotator,
            protocol=attempt.protocol,
            marks={n: bool(v) for n, v in said.values.items() if fields[n].kind == "mark"},
            grades={n: v for n, v in said.values.items() if fields[n].kind == "grade"},
            notes=said.notes,
            seconds=round((before.seconds if before and before.state != "open" else 0.0) + said.seconds, 3),
            state=before.state if kept and before is not None else said.act,
        )

    def _label(self, place: int) -> Label | None:
        return self._notebook.get(self._queue[place].transcript.transcript_id)

    def _next(self, start: int) -> int:
        """The next answer without a finished label, from `start` on and then from the first; their number: none."""
        order = [*range(start, len(self._queue)), *range(start)]
        return next((n for n in order if (x := self._label(n)) is None or x.state == "open"), len(self._queue))


def _stranger(request: web.Request) -> tuple[int, str] | None:
    """Why a request comes from elsewhere; None where it does not."""
    if (request.host.rpartition(":")[0] or request.host) not in {"127.0.0.1", "localhost"}:
        return 421, "this desk answers on loopback only"
    origin = request.headers.get("Origin")
    return (403, "a page of another origin") if origin not in (None, f"http://{request.host}") else None


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def choices(field: Field) -> tuple[tuple[float, str], ...]:
    """What a field can be, with what the page says for it."""
    if field.kind == "mark":
        return ((1.0, "yes"), (0.0, "no"))
    return tuple((level, f"{level:g}") for level in field.levels)


def _values(label: Label | None) -> dict[str, float]:
    if label is None:
        return {}
    return {**{name: float(value) for name, value in label.marks.items()}, **label.grades}


def _file(name: str, kind: str) -> Handler:
    async def send(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=(HOME / name).read_text(encoding="utf-8"), content_type=kind)

    return send


def _refused(status: int, why: str) -> web.Response:
    body: dict[str, Any] = {"error": why}
    return web.Response(status=status, text=json.dumps(body), content_type="application/json", headers=HEADERS)
