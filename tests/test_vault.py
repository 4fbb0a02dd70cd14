"""The vault: any holder of a key opens a sealed split in memory; nobody else, and no damaged file, ever."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import vault
from builders.__main__ import main as builders
from builders.sealed import check_sealed, open_sealed, rotate, seal_split, write_sealed
from builders.splits import SplitError, list_built, load_split, make_split, write_split
from builders.vault import IDENTITY, VaultError
from builders.verify import verify_built
from tests.made import SOURCE
from tests.made_sealed import cases, hold, key, leaks, riddles, runs_of, secret_riddle, write

NAME, VERSION = "watson-holmes", "1.0.0"


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Path, str]]:
    """Three key pairs; the environment holds none of them yet."""
    hold(monkeypatch, None)
    return {name: key(tmp_path / "keys", name) for name in ("first", "second", "stranger")}


@pytest.fixture
def folder(tmp_path: Path, keys: dict[str, tuple[Path, str]]) -> Path:
    """A sealed split for the first two."""
    return write(cases(2), tmp_path / "splits", keys["first"][1], keys["second"][1])


# --- bytes


@given(st.binary(max_size=300))
def test_what_is_encrypted_comes_back(data: bytes) -> None:
    from pyrage import x25519

    identity = x25519.Identity.generate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(IDENTITY, str(identity))
        assert vault.decrypt(vault.encrypt(data, [str(identity.to_public())]), what="it") == data


def test_a_key_lies_in_a_file_that_only_its_owner_may_read_and_is_never_overwritten(tmp_path: Path) -> None:
    file, recipient = key(tmp_path, "mine")
    assert file.stat().st_mode & 0o077 == 0
    assert recipient.startswith("age1")
    assert recipient in file.read_text()
    with pytest.raises(VaultError, match="never overwritten"):
        vault.make_key(file)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda file: file.chmod(0o644), "can be read by others"),
        (lambda file: file.write_text("# nothing\n"), "holds no identity"),
        (lambda file: file.write_text("AGE-SECRET-KEY-1NOTONE\n"), "holds a line that is no identity"),
        (lambda file: file.write_bytes(b"\xff\xfe"), "is no file with an identity"),
        (lambda file: file.unlink(), "cannot be read"),
    ],
)
def test_an_identity_that_cannot_be_used_is_refused_and_never_repeated(
    folder: Path,
    keys: dict[str, tuple[Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Path], object],
    says: str,
) -> None:
    file = keys["first"][0]
    hold(monkeypatch, file)
    spoil(file)
    with pytest.raises(SplitError, match=says) as caught:
        open_sealed(folder, NAME, VERSION)
    assert "NOTONE" not in str(caught.value)


def test_a_private_key_given_as_a_recipient_is_refused_without_showing_it(
    tmp_path: Path, keys: dict[str, tuple[Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    private = keys["first"][0].read_text().splitlines()[1]
    write_split(riddles(), root=tmp_path / "splits")
    for given_key in (private, private.lower(), "age1nonsense", ""):
        argv = ["seal", "sample-llm", "--recipient", given_key, "--out", str(tmp_path / "splits")]
        assert builders(argv) == 1
    assert private.removeprefix(vault.SECRET).lower() not in capsys.readouterr().err.lower()
    with pytest.raises(VaultError, match="is a private key"):
        vault.read_recipients([private])


# --- a split


@pytest.mark.parametrize("holder", ["first", "second"])
def test_any_recipient_opens_a_sealed_split(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch, holder: str
) -> None:
    hold(monkeypatch, keys[holder][0])
    split = load_split(NAME, root=folder.parent.parent, sealed=True)
    assert split.manifest.sealed
    assert [c.introduction for c in split.items] == [c.introduction for c in cases(2).items]
    monkeypatch.delenv(vault.IDENTITY_FILE)
    monkeypatch.setenv(IDENTITY, keys[holder][0].read_text().splitlines()[1])
    assert load_split(NAME, root=folder.parent.parent, sealed=True) == split


@pytest.mark.parametrize("made", [riddles, lambda: cases(2)], ids=["riddles with gold answers", "cases"])
def test_only_ciphertext_and_what_may_be_said_lie_on_disk(
    tmp_path: Path, keys: dict[str, tuple[Path, str]], made: Callable[[], object]
) -> None:
    split = made()
    write(split, tmp_path / "splits", keys["first"][1])
    assert leaks(runs_of(split.items), tmp_path) == []
    (manifest,) = list_built(tmp_path / "splits")
    assert manifest.seal is not None
    assert manifest.items == len(split.items)
    assert manifest.sealed_for == (keys["first"][1],)
    assert all(source.sha256 is None for source in manifest.sources)
    assert {i.id for i in split.items} & {i.id for i in manifest.seal.items} == set()


def test_gold_answers_and_their_items_stay_together_under_the_salted_names(
    tmp_path: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(riddles(), tmp_path, keys["first"][1])
    hold(monkeypatch, keys["first"][0])
    split = load_split("sample-llm", root=tmp_path, sealed=True)
    assert {g.item_id for g in split.gold} == {split.items[0].id}
    assert split.items[0].id.startswith("sealed-")


def test_equal_items_have_other_names_and_digests_in_every_seal(keys: dict[str, tuple[Path, str]]) -> None:
    one, other = (seal_split(cases(), [keys["first"][1]])[0] for _ in range(2))
    assert one.seal is not None
    assert other.seal is not None
    assert one.sha256 != other.sha256
    assert one.seal.items[0].id != other.seal.items[0].id
    assert one.seal.items[0].sha256 != other.seal.items[0].sha256


def damages(data: bytes) -> dict[str, bytes]:
    middle = len(data) // 2
    flip = lambda at: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]  # noqa: E731
    return {
        "a bit of the header": flip(60),
        "a bit of the text": flip(middle),
        "the last bit": flip(len(data) - 1),
        "cut in the header": data[:50],
        "cut in the text": data[:middle],
        "the last byte gone": data[:-1],
        "empty": b"",
        "a byte more": data + b"\0",
    }


@pytest.mark.parametrize("damage", damages(b"x" * 100))
@pytest.mark.parametrize("in_step", [False, True], ids=["manifest as it was", "manifest made to fit"])
def test_a_damaged_ciphertext_is_refused_and_nothing_of_it_shown(
    folder: Path,
    keys: dict[str, tuple[Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    damage: str,
    in_step: bool,
) -> None:
    """Even where somebody fitted the manifest to the damage, age itself refuses."""
    from hashlib import sha256

    hold(monkeypatch, keys["first"][0])
    path = folder / "items.age"
    data = damages(path.read_bytes())[damage]
    path.write_bytes(data)
    if in_step:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["seal"] |= {"ciphertext_sha256": sha256(data).hexdigest(), "ciphertext_bytes": len(data) or 1}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(
        SplitError, match=r"cut or changed|was changed|not encrypted for|not sealed for|age encrypted"
    ) as caught:
        open_sealed(folder, NAME, VERSION)
    assert not [s for s in runs_of(cases(2).items) if s in str(caught.value).encode()]
    assert not list(folder.parent.rglob("*.parquet"))


def test_a_wrong_key_and_no_key_are_told_apart(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SplitError, match="there is no identity to open it with; set DEERSTALKER_IDENTITY_FILE"):
        load_split(NAME, root=folder.parent.parent, sealed=True)
    hold(monkeypatch, keys["stranger"][0])
    with pytest.raises(SplitError, match=r"is not sealed for the identity you gave; ask a holder"):
        load_split(NAME, root=folder.parent.parent, sealed=True)


def test_a_seal_of_other_rows_under_this_manifest_is_refused(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """age does not say who encrypted: anyone who knows the public key can make a ciphertext that opens."""
    hold(monkeypatch, keys["first"][0])
    forged, data = seal_split(cases(1), [keys["first"][1], keys["second"][1]])
    manifest, _ = check_sealed(folder, NAME, VERSION)
    assert manifest.seal is not None
    assert forged.seal is not None
    seal = manifest.seal.model_copy(
        update={"ciphertext_sha256": forged.seal.ciphertext_sha256, "ciphertext_bytes": len(data)}
    )
    write_sealed(manifest.model_copy(update={"seal": seal}), data, root=folder.parent.parent, force=True)
    with pytest.raises(SplitError, match="do not have the digests of its manifest"):
        open_sealed(folder, NAME, VERSION)


def test_verify_proves_a_seal_whole_without_a_key(folder: Path) -> None:
    (line,) = verify_built(folder.parent.parent, (NAME,), VERSION)
    assert "sealed for 2, 2 items" in line
    assert "checked without opening them" in line
    data = bytearray((folder / "items.age").read_bytes())
    data[-1] ^= 1
    (folder / "items.age").write_bytes(data)
    with pytest.raises(SplitError, match="has not the sha256 that manifest"):
        list(verify_built(folder.parent.parent, (NAME,), VERSION))


# --- rotation


def test_a_removed_key_no_longer_opens_the_new_ciphertext_and_an_added_one_does(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root, old = folder.parent.parent, (folder / "items.age").read_bytes()
    hold(monkeypatch, keys["first"][0])
    before = load_split(NAME, root=root, sealed=True)
    argv = ["rotate", NAME, "--remove", keys["second"][1], "--add", keys["stranger"][1], "--out", str(root)]
    assert builders(argv) == 0
    assert "still opens with the removed key: in git's history" in capsys.readouterr().out
    for holder in ("first", "stranger"):
        hold(monkeypatch, keys[holder][0])
        after = load_split(NAME, root=root, sealed=True)
        assert (after.items, after.manifest.sha256) == (before.items, before.manifest.sha256)
    hold(monkeypatch, keys["second"][0])
    with pytest.raises(SplitError, match="not sealed for the identity you gave"):
        load_split(NAME, root=root, sealed=True)
    assert vault.decrypt(old, what="the old one"), "as is said: what was public stays open to the removed key"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "nothing to change"),
        (["--remove", "stranger"], "is not sealed for age1"),
        (["--remove", "first", "--remove", "second"], "would be sealed for nobody"),
        (["--add", "age1nonsense"], "recipient 1 is not a public key"),
    ],
)
def test_a_rotation_that_makes_no_sense_changes_nothing(
    folder: Path,
    keys: dict[str, tuple[Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    says: str,
) -> None:
    hold(monkeypatch, keys["first"][0])
    before = (folder / "items.age").read_bytes()
    words = [keys[word][1] if word in keys else word for word in options]
    assert builders(["rotate", NAME, *words, "--out", str(folder.parent.parent)]) == 1
    assert says in capsys.readouterr().err
    assert (folder / "items.age").read_bytes() == before


def test_rotation_as_a_new_version_leaves_the_old_one(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(monkeypatch, keys["first"][0])
    opened = open_sealed(folder, NAME, VERSION)
    manifest, data = rotate(opened, add=[keys["stranger"][1]], remove=[], version="1.0.1")
    write_sealed(manifest, data, root=folder.parent.parent)
    assert [m.version for m in list_built(folder.parent.parent)] == ["1.0.0", "1.0.1"]


# --- commands


def test_sealing_takes_the_rows_in_clear_away_and_a_build_does_not_bring_them_back(
    tmp_path: Path, keys: dict[str, tuple[Path, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "splits"
    write_split(riddles(), root=root)
    assert leaks(runs_of(riddles().items), root), "they lie there in clear"
    assert builders(["seal", "sample-llm", "--recipient", str(keys["first"][0]), "--out", str(root)]) == 1
    public = tmp_path / "team.txt"
    public.write_text(f"# who may read\n{keys['first'][1]}\n{keys['second'][1]}\n")
    assert builders(["seal", "sample-llm", "--recipient", str(public), "--out", str(root)]) == 0
    assert leaks(runs_of(riddles().items), root) == []
    assert builders(["seal", "sample-llm", "--recipient", str(public), "--out", str(root)]) == 1
    with pytest.raises(SplitError, match="what is sealed stays sealed"):
        write_split(riddles(), root=root)
    capsys.readouterr()


def test_cases_are_sealed_straight_from_their_files(
    tmp_path: Path,
    keys: dict[str, tuple[Path, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = Path(__file__).resolve().parent.parent / "builders/samples/cases"
    argv = ["seal", NAME, str(source), "--recipient", keys["first"][1], "--out", str(tmp_path / "splits")]
    assert builders(argv) == 0
    assert "3 items sealed for 1" in capsys.readouterr().out
    hold(monkeypatch, keys["first"][0])
    opened = load_split(NAME, root=tmp_path / "splits", sealed=True)
    assert leaks(runs_of(opened.items) - {i.id.encode() for i in opened.items}, tmp_path / "splits") == []


def test_open_prints_to_a_terminal_and_elsewhere_only_when_told(
    folder: Path, keys: dict[str, tuple[Path, str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(monkeypatch, keys["first"][0])
    argv = ["open", NAME, "--out", str(folder.parent.parent)]
    assert builders(argv) == 1
    said = capsys.readouterr()
    assert "standard output is not a terminal" in said.err
    assert said.out == ""
    assert builders([*argv, "--to-stdout"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [item["was"] for item in shown["items"]] == ["guessable-case-0", "guessable-case-1"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert builders(argv) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == shown
    assert "is on this screen in clear" in said.err


def test_no_option_of_any_command_takes_a_private_key() -> None:
    from builders.__main__ import _parser

    for command in _parser()._subparsers._group_actions[0].choices.values():  # type: ignore[union-attr]
        names = {name for action in command._actions for name in action.option_strings}
        assert not [name for name in names if "ident" in name or "secret" in name or "key" in name]


def test_a_sealed_item_shows_nothing_in_the_error_of_a_split_made_wrongly(keys: dict[str, tuple[Path, str]]) -> None:
    item = secret_riddle(0)
    with pytest.raises(SplitError) as caught:
        make_split("watson-holmes", [item], version="1.0.0", sources=[SOURCE])
    assert not [s for s in runs_of((item,)) - {item.id.encode()} if s in str(caught.value).encode()]
