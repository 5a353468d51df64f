"""Columns of numbers to bytes and back, framed with a checksum.

An integer column is its minimum and the distances from it, in the fewest of 0, 1, 2, 4 or 8 bytes, byte plane by byte
plane: constant planes cost nothing under zlib.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from struct import pack as struct_pack

WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}
DEFLATED = 0x80
DECIMALS = (0, 1, 2, 3)  # values with up to three decimals are kept as integers, exactly; others as raw doubles
RAW = 0xFF
LARGEST = 1 << 62
EARLY = "the frame ends too early"


class Corrupt(Exception):
    """These bytes are not what was written."""


class Writer:
    def __init__(self):
        self.body = bytearray()

    def number(self, value: int) -> None:
        value = (value << 1) ^ (value >> 127)  # zigzag, so that small negatives stay short
        while value > 0x7F:
            self.body.append(value & 0x7F | 0x80)
            value >>= 7
        self.body.append(value)

    def integers(self, column: Sequence) -> None:
        if not column:
            return
        low = min(column)
        width = _width(max(column) - low)
        self.body.append(width)
        self.number(low)
        if width:
            self.body += _planes(array(WIDTHS[width], [value - low for value in column]), width)

    def deltas(self, column: Sequence) -> None:
        """Writes a column of nearly regular steps, such as times, by their differences."""
        if not column:
            return
        self.number(column[0])
        self.integers([b - a for a, b in pairwise(column)])

    def floats(self, column: Sequence) -> None:
        """Floats or None, exactly."""
        present = [value for value in column if value is not None]
        if len(present) in (0, len(column)):
            self.body.append(1 if present else 0)
        else:
            self.body.append(2)
            self.integers([value is not None for value in column])
        if not present:
            return
        for decimals in DECIMALS:
            scaled = _scaled(present, 10**decimals)
            if scaled is not None:
                self.body.append(decimals)
                self.integers(scaled)
                return
        self.body.append(RAW)
        self.body += _planes(array("d", present), 8)

    def done(self, kind: int, level: int = 6) -> bytes:
        body, deflated = bytes(self.body), zlib.compress(self.body, level)
        if len(deflated) < len(body):
            kind, body = kind | DEFLATED, deflated
        return struct_pack("<BI", kind, zlib.crc32(body, kind)) + body


class ColumnReader:
    """Reads columns in the order in which a Writer wrote them."""

    def __init__(self, data: bytes, *kinds: int):
        if len(data) < 5 or data[0] & ~DEFLATED not in kinds:
            raise Corrupt(f"not a frame of kind {' or '.join(map(str, kinds))}")
        self.kind = data[0] & ~DEFLATED
        body = data[5:]
        if zlib.crc32(body, data[0]) != int.from_bytes(data[1:5], "little"):
            raise Corrupt("the checksum does not match")
        try:
            self.body = zlib.decompress(body) if data[0] & DEFLATED else body
        except zlib.error as error:
            raise Corrupt(str(error)) from error
        self.at = 0

    def byte(self) -> int:
        try:
            value = self.body[self.at]
        except IndexError:
            raise Corrupt(EARLY) from None
        self.at += 1
        return value

    def bytes(self, length: int) -> bytes:
        piece = self.body[self.at : self.at + length]
        if len(piece) != length:
            raise Corrupt(EARLY)
        self.at += length
        return piece

    def number(self) -> int:
        value = self.byte()
        if value >= 0x80:
            value, shift = value & 0x7F, 7
            while (byte := self.byte()) >= 0x80:
                value |= (byte & 0x7F) << shift
                shift += 7
            value |= byte << shift
        return (value >> 1) ^ -(value & 1)

    def integers(self, count: int) -> list:
        if not count:
            return []
        width, low = self.byte(), self.number()
        if not width:
            return [low] * count
        if width not in WIDTHS:
            raise Corrupt(f"no column has the width {width}")
        return [low + value for value in _unplanes(WIDTHS[width], width, self.bytes(count * width), count)]

    def deltas(self, count: int) -> list:
        if not count:
            return []
        first = self.number()
        return list(accumulate(self.integers(count - 1), initial=first))

    def floats(self, count: int) -> list:
        form = self.byte()
        if form == 0:
            return [None] * count
        mask = self.integers(count) if form == 2 else None
        length = count if mask is None else sum(mask)
        decimals = self.byte()
        if decimals == RAW:
            values = list(_unplanes("d", 8, self.bytes(length * 8), length))
        elif decimals in DECIMALS:
            divisor = 10**decimals
            values = [value / divisor for value in self.integers(length)]
        else:
            raise Corrupt(f"no value has {decimals} decimals")
        if mask is None:
            return values
        source = iter(values)
        return [next(source) if here else None for here in mask]


def _width(span: int) -> int:
    for width in (0, 1, 2, 4):
        if span < 1 << (8 * width):
            return width
    return 8


def _scaled(values: Sequence, factor: int):
    """The values as integers times 1/factor, or None where that would lose anything."""
    try:
        if round(values[0] * factor) / factor != values[0]:
            return None  # the first one tells nearly always
        scaled = [round(value * factor) for value in values]
    except (OverflowError, ValueError):  # infinity, not a number
        return None
    if [whole / factor for whole in scaled] != values or max(scaled) > LARGEST or min(scaled) < -LARGEST:
        return None
    return scaled


def _planes(column: array, width: int) -> bytes:
    if sys.byteorder == "big":  # pragma: no cover - no such machine here
        column.byteswap()
    data = column.tobytes()
    return b"".join(data[plane::width] for plane in range(width)) if width > 1 else data


def _unplanes(code: str, width: int, data: bytes, count: int) -> array:
    if width > 1:
        mixed = bytearray(len(data))
        for plane in range(width):
            mixed[plane::width] = data[plane * count : (plane + 1) * count]
        data = bytes(mixed)
    column = array(code)
    column.frombytes(data)
    if sys.byteorder == "big":  # pragma: no cover - no such machine here
        column.byteswap()
    return column
