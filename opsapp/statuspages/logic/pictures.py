"""Finds the kind of a picture from its bytes alone. SVG is refused: it can hold script and addresses."""

from __future__ import annotations

import struct
from typing import NamedTuple

MOST_BYTES = 200_000
MOST_PIXELS = 2_000  # a side


class Picture(NamedTuple):
    kind: str  # image/png, image/jpeg
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR" and len(data) >= 33:
        return Picture("image/png", *struct.unpack(">II", data[16:24]))
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    return None


def picture_problem(data: bytes) -> str | None:
    if len(data) > MOST_BYTES:
        return f"must be at most {MOST_BYTES // 1000} kB"
    picture = picture_of(data)
    if picture is None:
        return "must be a PNG or JPEG picture"
    if not (0 < picture.width <= MOST_PIXELS and 0 < picture.height <= MOST_PIXELS):
        return f"must be at most {MOST_PIXELS} pixels wide and high"
    return None


def _jpeg(data: bytes) -> Picture | None:
    """The size stands in the segment that begins the frame."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return Picture("image/jpeg", width, height)
        at += 2 + max(length, 2)
    return None
