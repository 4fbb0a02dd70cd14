"""Encrypt and decrypt with age, in memory only; keys come from a file or the environment and never from an argument.

An identity (private key) is named by DEERSTALKER_IDENTITY_FILE, or stands in DEERSTALKER_IDENTITY. A recipient (public
key) is a line `age1...` and no secret. age hides a text and shows every change of it; it does not say who wrote it: a
manifest pins the digest of the ciphertext for that.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyrage.x25519 import Identity

IDENTITY = "DEERSTALKER_IDENTITY"
IDENTITY_FILE = "DEERSTALKER_IDENTITY_FILE"
SECRET = "AGE-SECRET-KEY-"  # noqa: S105 - the mark by which such a key is known, not a key
HEADER = b"age-encryption.org/v1\n"
MOST_KEY_BYTES = 65_536


class VaultError(ValueError):
    """A key or a ciphertext that cannot be used; the message holds neither a key nor a text."""


def encrypt(data: bytes, recipients: Sequence[str]) -> bytes:
    """Encrypt bytes so that the identity of any of the recipients opens them.

    Raises:
        VaultError: If there is no recipient, or one is none.
    """
    import pyrage

    keys = [pyrage.x25519.Recipient.from_str(text) for text in read_recipients(recipients)]
    sealed: bytes = pyrage.encrypt(data, keys)
    return sealed


def decrypt(data: bytes, *, what: str) -> bytes:
    """Open a ciphertext with the identities of the environment.

    Args:
        what: Names the ciphertext in an error.

    Raises:
        VaultError: If there is no identity, none of them opens it, or it was cut or changed. Nothing of the text is
            returned then, not even its sound beginning.
    """
    import pyrage

    if not data.startswith(HEADER):
        raise VaultError(f"{what} is not a file that age encrypted")
    try:
        opened: bytes = pyrage.decrypt(data, list(_identities(what)))
    except pyrage.DecryptError as error:
        if "key" in str(error).lower():
            raise VaultError(
                f"{what} is not sealed for the identity you gave; ask a holder of a key to add yours with "
                "`python -m builders rotate --add`"
            ) from None
        raise VaultError(f"{what} was cut or changed and is not opened; fetch a sound copy") from None
    return opened


def read_recipients(texts: Sequence[str]) -> tuple[str, ...]:
    """Check recipients and put them in order, each once.

    Raises:
        VaultError: If there is none, or one is not `age1...`. A text that is not a recipient is never repeated: it may
            be a private key.
    """
    import pyrage

    found = []
    for number, text in enumerate((t.strip() for t in texts), start=1):
        if text.upper().startswith(SECRET):
            raise VaultError(f"recipient {number} is a private key; give its public key, which begins with age1")
        try:
            found.append(str(pyrage.x25519.Recipient.from_str(text)))
        except pyrage.RecipientError:
            raise VaultError(f"recipient {number} is not a public key of age, age1 and 58 letters") from None
    if not found:
        raise VaultError("no recipient; name at least one public key, or nobody could open it again")
    return tuple(sorted(set(found)))


def make_key(path: Path) -> str:
    """Write a new identity to a file that only you may read, and return its recipient.

    Raises:
        VaultError: If the file is there already.
        OSError: If it cannot be written.
    """
    import pyrage

    identity = pyrage.x25519.Identity.generate()
    recipient = str(identity.to_public())
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise VaultError(f"{path} exists; a key is never overwritten, give another file") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"# public key: {recipient}\n{identity}\n")
        file.flush()
        os.fsync(file.fileno())
    return recipient


def own_recipients() -> frozenset[str]:
    """The recipients whose identities the environment gives; empty where it gives none.

    Raises:
        VaultError: If it gives something that is no identity.
    """
    if not (os.environ.get("DEERSTALKER_IDENTITY_FILE") or os.environ.get("DEERSTALKER_IDENTITY")):
        return frozenset()
    return frozenset(str(identity.to_public()) for identity in _identities("the vault"))


def stanzas(data: bytes) -> int:
    """For how many recipients a ciphertext was made, read from its header without opening it."""
    head = data.partition(b"\n--- ")[0]
    return sum(line.startswith(b"-> X25519 ") for line in head.split(b"\n"))


def _identities(what: str) -> "tuple[Identity, ...]":
    import pyrage

    text, where = _identity_text(what)
    found = []
    for line in (line.strip() for line in text.splitlines()):
        if line and not line.startswith("#"):
            try:
                found.append(pyrage.x25519.Identity.from_str(line))
            except pyrage.IdentityError:
                raise VaultError(f"{where} holds a line that is no identity of age ({SECRET}...)") from None
    if not found:
        raise VaultError(f"{where} holds no identity of age ({SECRET}...)")
    return tuple(found)


def _identity_text(what: str) -> tuple[str, str]:
    named, given = os.environ.get("DEERSTALKER_IDENTITY_FILE"), os.environ.get("DEERSTALKER_IDENTITY")
    if not named and not given:
        raise VaultError(
            f"{what} is sealed and there is no identity to open it with; set {IDENTITY_FILE} to the file of your "
            f"private key, or {IDENTITY} to the key itself"
        )
    if not named:
        return given or "", IDENTITY
    where = f"the file that {IDENTITY_FILE} names"
    try:
        with Path(named).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MOST_KEY_BYTES)
    except OSError as error:
        raise VaultError(f"{where} cannot be read: {error.strerror}") from None
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise VaultError(f"{where} can be read by others on this machine; make it your own: chmod 600")
    try:
        return data.decode("ascii"), where
    except UnicodeDecodeError:
        raise VaultError(f"{where} is no file with an identity of age") from None
