"""Draw the images of the visual samples: integer shapes without smoothing, so that every machine makes the same bytes.

Lines are walked pixel by pixel and stamped with discs: Pillow's own wide lines are polygons computed in floating point.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from builders.images import encode_png

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

PAPER, INK, GREY, WHITE, RED, BLUE, YELLOW, GREEN, WOOD, DARK_WOOD, WATER, SHADE = range(12)
PALETTE = (
    (247, 242, 230),
    (45, 40, 38),
    (168, 160, 150),
    (255, 255, 255),
    (196, 62, 54),
    (52, 98, 168),
    (232, 184, 58),
    (74, 142, 92),
    (205, 170, 125),
    (130, 92, 58),
    (190, 214, 226),
    (228, 219, 201),
)
_COLOURS = {"r": RED, "b": BLUE, "y": YELLOW, "g": GREEN}

# Colour and number of holes of each button, row by row.
BUTTONS = (
    "b2 r3 y4 b3 g2 r4",
    "g3 b4 b3 y2 r3 b2",
    "y3 r2 g4 b4 b3 y4",
    "r4 b3 y3 g3 b2 r2",
    "b4 g2 r3 b3 y2 g4",
)

# At each stage from left to right, the lanes (counted from 0 at the top) that cross with the next one below.
CROSSINGS = ((0, 3), (1,), (2,), (0, 3), (1,), (2,), (0,))
LANES = 5

# The true time of the clock; the image shows it in a mirror.
TRUE_TIME = (4, 35)

# Rooms are (column, row); each pair is a doorway.
ROOMS = (5, 4)
DOORWAYS = frozenset(
    {
        ((0, 0), (1, 0)), ((1, 0), (2, 0)), ((3, 0), (4, 0)),
        ((0, 0), (0, 1)), ((2, 0), (2, 1)), ((4, 0), (4, 1)),
        ((1, 1), (2, 1)), ((3, 1), (4, 1)),
        ((0, 1), (0, 2)), ((1, 1), (1, 2)), ((3, 1), (3, 2)),
        ((1, 2), (2, 2)), ((2, 2), (3, 2)), ((3, 2), (4, 2)),
        ((0, 2), (0, 3)), ((2, 2), (2, 3)), ((4, 2), (4, 3)),
        ((0, 3), (1, 3)), ((2, 3), (3, 3)), ((3, 3), (4, 3)),
    }
)  # fmt: skip
CAT_ROOM, BOWL_ROOM = (0, 0), (3, 0)


def draw(name: str) -> bytes:
    """Draw the image of a visual sample as PNG bytes, under 100 kB and at least 320 pixels on each side.

    Raises:
        KeyError: If there is no drawing of that name.
    """
    from PIL import Image, ImageDraw

    width, height, paint = DRAWINGS[name]
    image = Image.new("L", (width, height), PAPER)
    paint(ImageDraw.Draw(image))
    return encode_png(width, height, PALETTE, image.tobytes())


def _disc(draw: "ImageDraw", x: int, y: int, radius: int, fill: int) -> None:
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


def _stroke(draw: "ImageDraw", points: Sequence[tuple[int, int]], radius: int, fill: int) -> None:
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for i in range(steps + 1):
            x, y = ((2 * i * (end - start) + steps) // (2 * steps) for start, end in ((x0, x1), (y0, y1)))
            _disc(draw, x0 + x, y0 + y, radius, fill)


def _label(draw: "ImageDraw", text: str, x: int, y: int, *, scale: int, fill: int, mirrored: bool = False) -> None:
    """Write with the bitmap font that Pillow carries, centred on (x, y) and enlarged pixel by pixel."""
    from PIL import Image, ImageDraw, ImageFont, ImageOps

    font = ImageFont.load_default_imagefont()
    left, top, right, bottom = (int(edge) for edge in font.getbbox(text))
    mask = Image.new("1", (right - left, bottom - top))
    ImageDraw.Draw(mask).text((-left, -top), text, font=font, fill=1)
    mask = mask.crop(mask.getbbox())
    mask = mask.resize((mask.width * scale, mask.height * scale), Image.Resampling.NEAREST)
    draw.bitmap((x - mask.width // 2, y - mask.height // 2), ImageOps.mirror(mask) if mirrored else mask, fill=fill)


def _buttons(draw: "ImageDraw") -> None:
    draw.rectangle((8, 8, 471, 391), fill=WOOD, outline=DARK_WOOD, width=6)
    for row, line in enumerate(BUTTONS):
        for column, button in enumerate(line.split()):
            colour, holes = _COLOURS[button[0]], int(button[1])
            # The tray was shaken: buttons sit a little off the grid and are turned.
            x = 54 + 74 * column + (row * 7 + column * 5) % 9 - 4
            y = 52 + 74 * row + (row * 3 + column * 11) % 9 - 4
            _disc(draw, x + 2, y + 3, 30, DARK_WOOD)
            _disc(draw, x, y, 30, INK)
            _disc(draw, x, y, 28, colour)
            draw.ellipse((x - 21, y - 21, x + 21, y + 21), outline=INK, width=1)
            for hole in range(holes):
                angle = 2 * math.pi * hole / holes + 0.4 * (row + 2 * column)
                _disc(draw, x + round(11 * math.cos(angle)), y + round(11 * math.sin(angle)), 5, INK)


def _moorings(draw: "ImageDraw") -> None:
    draw.rectangle((0, 0, 479, 399), fill=WATER)
    lanes = [48 + 76 * lane for lane in range(LANES)]
    for path in rope_lanes():
        points = [(74, lanes[path[0]])]
        for stage, (a, b) in enumerate(pairwise(path)):
            points += [(84 + 48 * stage, lanes[a]), (118 + 48 * stage, lanes[b])]
        points.append((436, lanes[path[-1]]))
        _stroke(draw, points, 6, WATER)  # a rim of water shows which rope runs on top
        _stroke(draw, points, 3, DARK_WOOD)
    draw.rectangle((420, 0, 479, 399), fill=WOOD)
    for y in range(0, 400, 25):
        draw.line((420, y, 479, y), fill=DARK_WOOD)
    for lane, y in enumerate(lanes):
        _stroke(draw, [(420, y), (436, y)], 3, DARK_WOOD)
        draw.rectangle((12, y - 20, 60, y + 20), fill=WHITE, outline=INK, width=3)
        for step in range(21):  # the bow of the boat
            draw.line((60 + step, y - 20 + step, 60 + step, y + 20 - step), fill=INK if step > 16 else WHITE)
        draw.line((60, y - 20, 80, y), fill=INK, width=1)
        draw.line((60, y + 20, 80, y), fill=INK, width=1)
        _label(draw, "ABCDE"[lane], 36, y, scale=3, fill=RED)
        _disc(draw, 449, y, 18, INK)
        _disc(draw, 449, y, 15, GREY)
        _label(draw, "12345"[lane], 449, y, scale=2, fill=INK)


def rope_lanes() -> list[list[int]]:
    """Follow each rope through CROSSINGS: its lane before the first stage and after each, boat by boat."""
    order = list(range(LANES))
    paths = [[boat] for boat in order]
    for stage in CROSSINGS:
        for lane in stage:
            order[lane], order[lane + 1] = order[lane + 1], order[lane]
        for lane, boat in enumerate(order):
            paths[boat].append(lane)
    return paths


def _clock(draw: "ImageDraw") -> None:
    draw.rectangle((0, 0, 439, 439), fill=DARK_WOOD)
    draw.rectangle((14, 14, 425, 425), fill=SHADE, outline=INK, width=2)
    for i in range(-60, 60, 40):  # streaks of light, so that the glass looks like glass
        draw.line((14, 120 + i, 120 + i, 14), fill=WHITE)
    cx, cy = 220, 206
    _disc(draw, cx, cy, 166, INK)
    _disc(draw, cx, cy, 158, WHITE)
    for tick in range(60):
        angle = math.pi * tick / 30
        reach, radius = (138, 4) if tick % 5 == 0 else (148, 1)
        _disc(draw, cx + round(reach * math.sin(angle)), cy - round(reach * math.cos(angle)), radius, INK)
    for step in range(18):  # the wedge that marks twelve
        draw.line((cx - step // 2, cy - 112 - step, cx + step // 2, cy - 112 - step), fill=RED)
    _label(draw, "BARBER", cx, cy - 62, scale=2, fill=GREY, mirrored=True)
    hours, minutes = TRUE_TIME
    for turn, reach, radius in (((hours + minutes / 60) / 12, 78, 6), (minutes / 60, 122, 4)):
        angle = -2 * math.pi * turn  # a mirror turns the hands the other way round
        tip = (cx + round(reach * math.sin(angle)), cy - round(reach * math.cos(angle)))
        _stroke(draw, [(cx, cy), tip], radius, INK)
    _disc(draw, cx, cy, 10, INK)
    _disc(draw, cx, cy, 4, RED)


def _rooms(draw: "ImageDraw") -> None:
    columns, rows = ROOMS
    side, margin = 90, 15
    draw.rectangle((0, 0, 479, 389), fill=SHADE)
    draw.rectangle((margin, margin, margin + side * columns, margin + side * rows), fill=PAPER)
    for column in range(columns):
        for row in range(rows):
            x, y = margin + side * column, margin + side * row
            corner = (x + side, y + side)
            for start, beyond in (((x + side, y), (column + 1, row)), ((x, y + side), (column, row + 1))):
                _stroke(draw, [start, corner], 4, INK)
                if ((column, row), beyond) in DOORWAYS:
                    draw.rectangle(doorway((column, row), beyond), fill=PAPER)
    _stroke(draw, [(margin, margin + side * rows), (margin, margin), (margin + side * columns, margin)], 4, INK)
    x, y = (margin + side * n + side // 2 for n in CAT_ROOM)
    for step in range(14):  # ears
        for ear in (-13, 13):
            draw.line((x + ear - step // 2, y - 30 + step, x + ear + step // 2, y - 30 + step), fill=INK)
    _disc(draw, x, y, 22, INK)
    for eye in (-8, 8):
        _disc(draw, x + eye, y - 3, 4, YELLOW)
    x, y = (margin + side * n + side // 2 for n in BOWL_ROOM)
    draw.pieslice((x - 26, y - 30, x + 26, y + 22), 0, 180, fill=BLUE, outline=INK)
    draw.ellipse((x - 26, y - 12, x + 26, y + 4), fill=WHITE, outline=INK, width=2)


def doorway(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box (left, top, right, bottom) in pixels that is cut out of the wall between two neighbouring rooms."""
    x, y = 15 + 45 * (a[0] + b[0] + 1), 15 + 45 * (a[1] + b[1] + 1)
    return (x - 4, y - 16, x + 4, y + 16) if a[1] == b[1] else (x - 16, y - 4, x + 16, y + 4)


DRAWINGS: Mapping[str, tuple[int, int, Callable[["ImageDraw"], None]]] = {
    "button-tray": (480, 400, _buttons),
    "moorings": (480, 400, _moorings),
    "barber-clock": (440, 440, _clock),
    "cat-and-bowl": (480, 390, _rooms),
}
