"""What /proc says of processes and threads, any of which may be gone by the time it is read."""

from collections.abc import Iterable
from pathlib import Path


def texts(paths: Iterable[Path]) -> list[str]:
    """What those say that are still there."""
    return [text for text in map(_text, paths) if text is not None]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
