"""Whether an accent colour can be read on the papers of the page: the contrast of WCAG."""

from __future__ import annotations

LIGHT_PAPER, LIGHT_WORDS = "#f7f7f5", "#ffffff"  # what stands around it, and what is written on it
DARK_PAPER, DARK_WORDS = "#0f100f", "#131412"
ENOUGH = 4.5


def contrast(colour: str, other: str) -> float:
    """From 1 (the same) to 21 (black and white)."""
    darker, lighter = sorted((_luminance(colour), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def colour_problem(colour: str, *, dark: bool) -> str | None:
    around, written = (DARK_PAPER, DARK_WORDS) if dark else (LIGHT_PAPER, LIGHT_WORDS)
    least = min(contrast(colour, around), contrast(colour, written))
    if least >= ENOUGH:
        return None
    hint = "lighter" if dark else "darker"
    return f"its contrast is {least:.1f} : 1, and {ENOUGH} : 1 is needed: take a {hint} colour"


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
