"""What a program of the monitoring-plugins kind says: the state in its exit code, its output, its performance data.

    DISK OK - free space: / 3326 MB | /=2643MB;5948;5958;0;5968

The first line is what people read. What follows the first `|` of it, and the first `|` of the other lines, is
performance data: `'label'=value[unit];warn;crit;min;max`. Must not: run anything.
"""

from __future__ import annotations

import math
import re
from typing import Dict, Iterator, NamedTuple, Tuple

from .probes import MOST_METRICS, UNIT_LENGTH, Outcome
from .readings import metric_name

READ = 65536  # bytes of output; what is beyond is thrown away
LARGEST = 1e300
OK, WARNING, CRITICAL, UNKNOWN = range(4)
_STATES = {OK: True, WARNING: True, CRITICAL: False, UNKNOWN: None}
_LABEL_IN_QUOTES = re.compile(r"(?:[^']|'')*")
_BARE_LABEL = re.compile(r"[^\s=']*")
_WORD, _BLANKS = re.compile(r"\S*"), re.compile(r"\s*")
_VALUE = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)([^\s\d;]*)")
_SCALES: Dict[str, Tuple[str, float]] = {
    "us": ("s", 1e-6),
    "µs": ("s", 1e-6),
    "ms": ("s", 1e-3),
    **{unit: ("B", 1024.0**power) for power, unit in enumerate(("B", "KB", "MB", "GB", "TB", "PB"))},
    **{unit: ("B", 1024.0**power) for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), 1)},
    "kB": ("B", 1024.0),
}


class PluginOutput(NamedTuple):
    """A plugin's values by the names that conditions use after `plugin.`; seconds and bytes whatever was printed."""

    text: str
    metrics: Dict[str, float]
    units: Dict[str, str]


def outcome_of(exit_code: int, raw: bytes, took_ms: float) -> Outcome:
    """Any other exit code than 0 to 3 tells nothing of what was looked at."""
    output = read_output(raw)
    if exit_code not in _STATES:
        told = f": {output.text}" if output.text else ""
        return Outcome(None, took_ms, f"the plugin ended with exit code {exit_code}, which is none of 0 to 3{told}")
    return Outcome(
        _STATES[exit_code],
        took_ms,
        output.text or f"exit code {exit_code}, without output",
        degraded=exit_code == WARNING or None,
        metrics=output.metrics or None,
        units=output.units or None,
    )


def read_output(raw: bytes) -> PluginOutput:
    first, _, others = _whole_words(raw).decode("utf-8", "replace").lstrip().partition("\n")
    text, _, data = first.partition("|")
    metrics, units = _performance(f"{data} {others.partition('|')[2]}")
    return PluginOutput(text.strip(), metrics, units)


def _whole_words(raw: bytes) -> bytes:
    """The output cut at a whole word: a number that was cut in two would be another one."""
    if len(raw) <= READ:
        return raw
    end = max(raw.rfind(b" ", 0, READ), raw.rfind(b"\n", 0, READ))
    return raw[: end if end > 0 else READ]


def _performance(data: str) -> Tuple[Dict[str, float], Dict[str, str]]:
    """Labels whose names are alike have numbers behind them: `a b` and `a,b` are `a_b` and `a_b_2`."""
    metrics: Dict[str, float] = {}
    units: Dict[str, str] = {}
    for label, written in _items(data):
        value, name = _VALUE.fullmatch(written.partition(";")[0]), _free(metric_name(label), metrics)
        if value is None or not name:
            continue  # `U` stands for a value that the plugin could not measure
        written_unit = "".join(filter(str.isprintable, value[2]))  # a message with a NUL in it is refused whole
        unit, scale = _SCALES.get(written_unit, (written_unit, 1.0))
        number = float(value[1]) * scale
        if math.isfinite(number) and abs(number) <= LARGEST and len(unit) <= UNIT_LENGTH:
            metrics[name], units[name] = float(f"{number:.12g}"), unit
        if len(metrics) == MOST_METRICS:
            break
    return metrics, units


def _items(data: str) -> Iterator[Tuple[str, str]]:
    """(label, what follows its `=` up to the next blank). A word that is no item is passed over."""
    at = _end(_BLANKS, data, 0)
    while at < len(data):
        if data[at] == "'":
            end = _end(_LABEL_IN_QUOTES, data, at + 1)
            label, after = data[at + 1 : end].replace("''", "'"), end + 1
        else:
            after = _end(_BARE_LABEL, data, at)
            label = data[at:after]
        end = _end(_WORD, data, min(after, len(data)))
        if data[after : after + 1] == "=":
            yield label, data[after + 1 : end]
        at = _end(_BLANKS, data, max(end, at + 1))


def _end(pattern: "re.Pattern[str]", data: str, at: int) -> int:
    """Where what begins here, and fits, ends."""
    match = pattern.match(data, at)
    assert match is not None  # all of these fit an empty text too
    return match.end()


def _free(name: str, taken: Dict[str, float]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
