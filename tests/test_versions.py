"""Semantic versions of splits: what changed decides, not what somebody says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.splits import Split
from builders.versions import (
    SIZES,
    Fingerprint,
    Size,
    VersionError,
    check_version,
    compare,
    fingerprint,
    largest,
    next_version,
    numbers,
)
from tests.made import gold, made_split, riddle

versions = st.tuples(*[st.integers(0, 999)] * 3).map(lambda v: ".".join(map(str, v)))
sizes = st.sampled_from(SIZES)


def print_of(
    items: range = range(4), *, labelled: int = 2, prompts: str | None = "a" * 64, **manifest: object
) -> Fingerprint:
    from builders.splits import make_split
    from tests.made import SOURCE

    made = make_split(
        "sample-llm",
        [riddle(n) for n in items],
        [g for n in range(labelled) for g in gold(n)],
        version="1.0.0",
        sources=[SOURCE],
    )
    found = fingerprint(made, prompts_sha256=prompts)
    return found._replace(manifest=found.manifest.model_copy(update=manifest))


def changed() -> Fingerprint:
    found = print_of()
    return found._replace(items=found.items | {"r-001": "0" * 64})


@pytest.mark.parametrize(
    ("new", "size", "line"),
    [
        (print_of(), "none", None),
        (print_of(range(5)), "minor", "1 item added: r-004"),
        (print_of(range(12)), "minor", "8 items added: r-004, r-005, r-006, r-007, r-008 and 3 more"),
        (print_of(range(3)), "major", "1 item removed: r-003"),
        (changed(), "major", "1 item changed: r-001"),
        (print_of(labelled=3), "minor", "2 gold answers added: r-002/right, r-002/wrong"),
        (print_of(labelled=1), "major", "2 gold answers removed: r-001/right, r-001/wrong"),
        (print_of(prompts="b" * 64), "major", "the prompts changed"),
        (print_of(sha256="b" * 64), "major", "the order of the items changed"),
        (print_of(gold_sha256="b" * 64), "major", "the gold answers changed"),
        (print_of(language="fr"), "major", "language changed"),
        (print_of(canary="other"), "patch", "canary changed"),
        (print_of(licence="MIT"), "patch", "licence changed"),
        (print_of()._replace(form="ids"), "major", "published as ids, before as full"),
    ],
)
def test_what_changed_decides_the_size(new: Fingerprint, size: Size, line: str | None) -> None:
    change = compare(print_of(), new)
    assert change.size == size
    assert change.lines == (() if line is None else (line,))


def test_the_version_itself_is_no_change_and_a_new_split_is_an_addition() -> None:
    assert compare(print_of(), print_of(version="7.0.0")).size == "none"
    assert compare(None, print_of()) == ("minor", ("new split with 4 items",))


def test_sealed_rows_are_compared_by_the_digest_in_the_manifest() -> None:
    def sealed(digest: str) -> Fingerprint:
        return Fingerprint(print_of(visibility="sealed", sha256=digest).manifest, {}, {}, None, "sealed")

    assert compare(sealed("a" * 64), sealed("a" * 64)).size == "none"
    assert compare(sealed("a" * 64), sealed("b" * 64)) == ("major", ("the sealed items changed",))


@given(versions, sizes)
def test_the_next_version_is_the_smallest_that_is_not_refused(old: str, size: Size) -> None:
    least = next_version(old, largest(size, "patch"))
    check_version(old, least, size)
    assert numbers(least) > numbers(old)
    major, minor, patch = numbers(least)
    for below in ((major, minor, patch - 1), (major, minor - 1, patch + 99), (major - 1, minor + 99, patch)):
        if min(below) >= 0 and below > numbers(old):
            with pytest.raises(VersionError, match="too small"):
                check_version(old, ".".join(map(str, below)), size)


@given(versions, versions)
def test_versions_sort_as_numbers(one: str, other: str) -> None:
    assert (numbers(one) < numbers(other)) == (tuple(map(int, one.split("."))) < tuple(map(int, other.split("."))))


@pytest.mark.parametrize("text", ["1", "1.0", "v1.0.0", "1.0.0.0", "1.0.x", "", "1.0.1234567", "１.0.0"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(VersionError, match="is not a version"):
        numbers(text)


def test_every_row_of_a_split_has_a_digest_of_its_own() -> None:
    split: Split = made_split()
    found = fingerprint(split)
    assert len(found.items) == len(set(found.items.values())) == len(split.items)
    assert len(found.gold) == len(split.gold)
