"""What DuckDB met at the store, as one line that says what to do."""

import re
from pathlib import Path


def explain(error: Exception, path: Path) -> str:
    """Say in one line what DuckDB met at the store, and what to do."""
    text, where = " ".join(str(error).split()), f"the store {str(path)!r}"
    held = re.search(r"\(PID (\d+)\)", text)
    holder = f"process {held[1]}" if held else "another command"
    elsewhere = "set DEERSTALKER_STORE to a file in a folder you may write"
    known = {
        "Could not set lock": f"{where} is in use by {holder}; try again when it has finished",
        "with a different configuration": f"{where} is open in this process already; close it first",
        "not a valid DuckDB database": f"{str(path)!r} is no DuckDB file; move it away or set DEERSTALKER_STORE",
        "No space left": f"{where} cannot grow, the disk is full; nothing of this write was kept: free space, repeat",
        "File too large": f"{where} may not grow further; nothing of this write was kept: raise the limit, repeat",
        "Permission denied": f"{where} cannot be written: {text}; {elsewhere}",
        "Read-only file system": f"{where} cannot be written: {text}; {elsewhere}",
        "Is a directory": f"{where} is a folder; {elsewhere}",
        "No such file or directory": f"{where} cannot be made: make its folder {str(path.parent)!r} first",
    }
    return next((message for sign, message in known.items() if sign in text), f"{where}: {text}")
