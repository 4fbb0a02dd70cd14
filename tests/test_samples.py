"""The project's own riddles: every answer that can be computed is computed here, and found to be the only one."""

import json
import re
from collections import Counter, deque
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from itertools import combinations, permutations, product

import pytest
from PIL import Image

from builders import BENCHMARKS, CANARIES
from builders.images import encode_png, image_fault
from builders.layton import to_riddles
from builders.samples import FOLDER, read_samples
from builders.samples import drawings as art
from builders.splits import make_split, rows_sha256
from builders.values import GoldAnswer, Riddle

ROWS = {split: read_samples(split) for split in ("llm", "vlm")}
RIDDLES = {split: {r.id: r for r in to_riddles(rows, id_pattern="[a-z-]+")[0]} for split, (rows, _, _) in ROWS.items()}
GOLD = {split: gold for split, (_, gold, _) in ROWS.items()}


def answer(name: str) -> str:
    return {**RIDDLES["llm"], **RIDDLES["vlm"]}[name].answer


def description(name: str) -> str:
    return {**RIDDLES["llm"], **RIDDLES["vlm"]}[name].description


# --- arithmetic


def test_only_3_adults_and_10_children_pay_61_coins_and_are_mostly_children() -> None:
    parties = [(a, c) for a, c in product(range(1, 20), range(20)) if 7 * a + 4 * c == 61 and c > a]
    assert parties == [(3, 10)]
    assert answer("ferry-fares") == "3 adults and 10 children."


def test_the_candles_are_equally_tall_at_half_past_nine_only() -> None:
    minutes = range(60, 450)  # after 18:00, while both burn
    equal = [m for m in minutes if 30 * 60 - 4 * m == 21 * 60 - 2 * (m - 60)]
    assert [divmod(m, 60) for m in equal] == [(3, 30)]
    assert 30 - 4 * 3.5 == 16
    assert answer("two-candles") == "At 21:30, when both are 16 cm tall."


def test_the_tower_strikes_50_times_while_pia_counts() -> None:
    strokes = 0
    for minute in range(6 * 60 + 10, 11 * 60 + 21):
        hour, rest = divmod(minute, 60)
        strokes += hour if rest == 0 else int(rest == 30)
    assert answer("bell-strokes") == f"{strokes} strokes."


def test_only_locker_36_is_four_times_the_sum_of_its_digits_which_differ_by_three() -> None:
    numbers = [n for n in range(10, 100) if n == 4 * (n // 10 + n % 10) and n % 10 - n // 10 == 3]
    assert [answer("locker-number")] == [str(n) for n in numbers]


def test_only_53_steps_leave_1_and_2_and_3_over() -> None:
    steps = [n for n in range(40, 71) if (n % 2, n % 3, n % 5) == (1, 2, 3)]
    assert [answer("tower-steps")] == [f"{n} steps." for n in steps]


def test_only_3_and_8_kg_balance_the_carts_with_15_kg() -> None:
    others = (3, 5, 8, 9, 12)
    sets = [s for k in range(6) for s in combinations(others, k) if 2 * (15 + sum(s)) == 15 + sum(others)]
    assert sets == [(3, 8)]
    assert answer("two-carts") == "The sacks of 3 kg and 8 kg."


# --- logic


def test_only_lou_can_have_taken_the_lantern() -> None:
    def true_statements(thief: str) -> int:
        jon = thief == "Kit"
        return [thief == "Jon", jon, not jon, thief != "Lou"].count(True)

    thieves = [name for name in ("Una", "Jon", "Kit", "Lou") if true_statements(name) == 1]
    assert [answer("signal-lantern")] == [f"{name} took it." for name in thieves]


def test_only_one_order_of_the_boats_fits() -> None:
    orders = [
        order
        for order in permutations(("green", "red", "blue", "white"))
        if order.index("red") in {1, 2}
        and order.index("blue") + 1 == order.index("white")
        and order.index("green") < order.index("blue")
    ]
    assert [answer("four-boats")] == [", ".join(order).capitalize() + "." for order in orders]


def test_the_gold_key_opens_the_attic_in_every_way_the_keys_fit() -> None:
    fits = [
        gold
        for brass, copper, silver, gold in permutations(("attic", "barn", "cellar", "dairy"))
        if brass not in {"attic", "dairy"} and copper in {"cellar", "dairy"} and silver not in {"attic", "barn"}
    ]
    assert set(fits) == {"attic"}
    assert answer("four-keys") == "The attic."


def test_only_one_week_of_watches_fits() -> None:
    weeks = [
        week
        for week in permutations(("Ada", "Ben", "Cal", "Dot", "Eve"))
        if week.index("Ada") == week.index("Ben") + 2
        and week.index("Dot") == week.index("Cal") + 1
        and week.index("Eve") in {1, 2, 3}
        and week.index("Dot") > week.index("Ben")
    ]
    assert weeks == [("Ben", "Eve", "Ada", "Cal", "Dot")]
    assert answer("night-watch") == f"{weeks[0][1]}."


def test_only_one_choice_of_scarves_makes_every_statement_fit_its_speaker() -> None:
    fits = []
    for blue in product((False, True), repeat=3):
        statements = (any(blue), blue[0], all(blue))
        if all(said != is_blue for said, is_blue in zip(statements, blue, strict=True)):
            fits.append(sum(blue))
    assert fits == [2]
    assert answer("scarves") == "Two of them."


def test_only_one_code_gives_the_three_answers_of_the_lock() -> None:
    def reply(code: str, guess: str) -> tuple[int, int]:
        placed = sum(a == b for a, b in zip(code, guess, strict=True))
        return placed, len(set(code) & set(guess)) - placed

    tries = {"976": (0, 2), "594": (2, 0), "649": (0, 1)}
    codes = ["".join(c) for c in permutations("0123456789", 3)]
    assert [answer("code-lock")] == [c for c in codes if all(reply(c, g) == r for g, r in tries.items())]
    assert all(guess in description("code-lock") for guess in tries)


# --- wordplay


def test_the_initials_of_the_note_spell_attic() -> None:
    note = re.search(r'"(.+?)"', description("courier-note"))
    assert note is not None
    initials = "".join(word[0] for word in note[1].split())
    assert answer("courier-note") == f"The {initials.lower()}."


def test_opal_is_the_only_gem_in_the_sentence() -> None:
    sentence = re.search(r'"(.+?)"', description("loose-alibi"))
    assert sentence is not None
    letters = re.sub("[^a-z]", "", sentence[1].lower())
    gems = "agate amber beryl citrine coral diamond emerald garnet jade jasper jet lapis onyx opal pearl peridot quartz"
    others = "ruby sapphire spinel topaz turquoise zircon"
    assert [gem for gem in f"{gems} {others}".split() if gem in letters] == ["opal"]
    assert answer("loose-alibi") == "An opal."


def test_kale_and_word_and_vivid_are_spelled_as_the_riddles_say() -> None:
    assert sorted("kale") == sorted("lake")
    assert "sword"[1:] == "word"
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    assert answer("roman-colours").endswith(f"{sum(values[c] for c in 'VIVID')}.")


# --- visual


def test_five_blue_buttons_have_three_holes() -> None:
    buttons = Counter(" ".join(art.BUTTONS).split())
    assert answer("button-tray") == str(buttons["b3"])
    assert (buttons["b2"], buttons["b3"], buttons["b4"]) == (3, 5, 3)


def test_the_picture_shows_as_many_buttons_and_holes_as_the_list() -> None:
    pixels = _indices("button-tray")
    buttons = " ".join(art.BUTTONS).split()
    for letter, colour in (("r", art.RED), ("b", art.BLUE), ("y", art.YELLOW), ("g", art.GREEN)):
        # Each button has two patches of its colour, one inside and one outside of the thin ring.
        assert len([s for s in _patches(pixels, colour) if s > 900]) == 2 * sum(b[0] == letter for b in buttons)
    assert len([s for s in _patches(pixels, art.INK) if 60 < s < 120]) == sum(int(b[1]) for b in buttons)


def test_the_rope_of_boat_b_ends_at_post_4() -> None:
    ends = [path[-1] + 1 for path in art.rope_lanes()]
    assert sorted(ends) == [1, 2, 3, 4, 5]
    assert answer("moorings") == f"Post {ends[1]}."


def test_the_mirrored_clock_shows_the_true_time() -> None:
    hours, minutes = art.TRUE_TIME
    assert answer("barber-clock") == f"{hours}:{minutes:02}"
    seen = 12 * 60 - (60 * hours + minutes)
    assert f"{seen // 60}:{seen % 60:02}" == "7:25"
    pixels = _indices("barber-clock")
    # The tip of the minute hand is at the 5, not at the 7 where it really is.
    assert pixels[206 + 104][220 + 60] == art.INK
    assert pixels[206 + 104][220 - 60] == art.WHITE


def test_the_cat_passes_eleven_doorways() -> None:
    distance = {art.CAT_ROOM: 0}
    queue = deque([art.CAT_ROOM])
    while queue:
        room = queue.popleft()
        for a, b in art.DOORWAYS:
            for here, there in ((a, b), (b, a)):
                if here == room and there not in distance:
                    distance[there] = distance[room] + 1
                    queue.append(there)
    assert answer("cat-and-bowl") == str(distance[art.BOWL_ROOM])


def test_every_wall_of_the_drawn_plan_is_open_exactly_where_a_doorway_is() -> None:
    pixels = _indices("cat-and-bowl")
    for column, row in product(range(art.ROOMS[0]), range(art.ROOMS[1])):
        for beyond in ((column + 1, row), (column, row + 1)):
            if beyond[0] < art.ROOMS[0] and beyond[1] < art.ROOMS[1]:
                left, top, right, bottom = art.doorway((column, row), beyond)
                middle = pixels[(top + bottom) // 2][(left + right) // 2]
                assert (middle == art.PAPER) == (((column, row), beyond) in art.DOORWAYS)


@pytest.mark.parametrize("name", sorted(art.DRAWINGS))
def test_a_drawing_is_a_small_sound_png_of_decent_size(name: str) -> None:
    data = art.draw(name)
    assert len(data) < 100_000
    assert image_fault(data) is None
    with Image.open(BytesIO(data)) as image:
        assert image.format == "PNG"
        assert min(image.size) >= 320


def test_rows_and_drawings_are_those_of_the_golden_file(golden: Callable[[str, str], None]) -> None:
    """A change here is a new version of the split."""
    made = {f"image {name}": sha256(art.draw(name)).hexdigest() for name in sorted(art.DRAWINGS)}
    for split in ("llm", "vlm"):
        made[f"items sample-{split}"] = rows_sha256(RIDDLES[split].values())
        made[f"gold sample-{split}"] = rows_sha256(GOLD[split])
    golden("samples.json", json.dumps(made, indent=2) + "\n")


def test_a_png_that_cannot_be_packed_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        encode_png(3, 2, [(0, 0, 0)], bytes(6))


# --- the set as a whole


def test_there_are_six_riddles_of_each_category_and_four_visual_ones() -> None:
    assert Counter(r.category for r in RIDDLES["llm"].values()) == dict.fromkeys(
        ("lateral", "wordplay", "arithmetic", "logic"), 6
    )
    assert [r.category for r in RIDDLES["vlm"].values()] == ["visual"] * 4
    assert all(r.image is not None for r in RIDDLES["vlm"].values())


def test_nothing_is_odd_about_the_samples() -> None:
    for rows, _, _ in ROWS.values():
        assert to_riddles(rows, id_pattern="[a-z-]+")[1] == ()


@pytest.mark.parametrize("riddle", [r for s in RIDDLES.values() for r in s.values()], ids=lambda r: r.id)
def test_a_riddle_is_short_and_complete(riddle: Riddle) -> None:
    assert len(riddle.description.split()) < 90
    assert 2 <= len(riddle.hints) <= 3
    assert riddle.solution
    assert riddle.justification


@pytest.mark.parametrize("split", ["llm", "vlm"])
def test_every_riddle_has_two_or_three_authored_answers_of_different_kinds(split: str) -> None:
    for name in RIDDLES[split]:
        labels = [_label(g) for g in GOLD[split] if g.item_id == name]
        assert len(labels) in {2, 3}
        assert len(set(labels)) == len(labels)
        assert "right" in labels
    assert {g.annotator for g in GOLD[split]} == {"author"}


def test_the_first_twelve_gold_answers_mix_the_three_kinds_equally() -> None:
    assert len(GOLD["llm"]) >= 48
    assert Counter(map(_label, GOLD["llm"][:12])) == {"right": 4, "wrong-reason": 4, "wrong": 4}


def test_each_file_carries_the_canary_of_its_split() -> None:
    assert set(CANARIES) == {name for b in BENCHMARKS for name in b.splits}
    assert len(set(CANARIES.values())) == len(CANARIES)
    for split, file in (("sample-llm", "riddles.yaml"), ("sample-vlm", "visual.yaml")):
        guid = CANARIES[split].rpartition(" ")[2]
        assert f"deerstalker canary GUID {guid}" in (FOLDER / file).read_text(encoding="utf-8")
    rows, gold, source = ROWS["llm"]
    split = make_split("sample-llm", to_riddles(rows)[0], gold, version="1.0.0", sources=[source])
    assert split.manifest.canary == CANARIES["sample-llm"]
    assert split.manifest.licence == "CC-BY-4.0"


def _label(gold: GoldAnswer) -> str:
    if not gold.is_answer_correct:
        assert not gold.is_justification_correct
        return "wrong"
    return "right" if gold.is_justification_correct else "wrong-reason"


def _indices(name: str) -> list[bytes]:
    with Image.open(BytesIO(art.draw(name))) as image:
        width, data = image.width, image.tobytes()
    return [data[i : i + width] for i in range(0, len(data), width)]


def _patches(pixels: list[bytes], colour: int) -> list[int]:
    """The sizes in pixels of the connected patches of a colour."""
    todo = {(x, y) for y, row in enumerate(pixels) for x, index in enumerate(row) if index == colour}
    sizes = []
    while todo:
        queue = [todo.pop()]
        size = 0
        while queue:
            x, y = queue.pop()
            size += 1
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in todo:
                    todo.remove(near)
                    queue.append(near)
        sizes.append(size)
    return sizes
