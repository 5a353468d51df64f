"""Scores by published rules: that of the Numenta Anomaly Benchmark (standard profile), the mean absolute scaled error;
and the plain detector that others are compared with."""

import math
from typing import NamedTuple

TRUE, FALSE, MISSED = 1.0, 0.11, 1.0
PROBATION, PROBATION_MOST = 0.15, 750


def sigmoid(y):
    return 2 / (1 + math.exp(5 * y)) - 1


class Scored(NamedTuple):
    points: list
    wrong: list
    scores: list


def nab_score(sets, threshold):
    """(0 of who finds nothing, 100 of who finds all at once), over all sets with one threshold."""
    raw = nothing = perfect = 0.0
    for points, wrong, scores in sets:
        raw += _raw(points, wrong, scores, threshold)
        nothing -= MISSED * len(wrong)
        perfect += sigmoid(-1) * len(wrong)
    return 100 * (raw - nothing) / (perfect - nothing)


def best_nab_score(sets):
    """(score, threshold) at the threshold that serves best, as the benchmark does it for everybody."""
    known = sorted({score for _, _, scores in sets for score in scores if score > 0}, reverse=True)
    chosen, at = [], 0.0
    while known and at < len(known):  # densely among the highest, where it matters
        chosen.append(known[int(at)])
        at = max(at + 1, at * 1.1)
    return max((nab_score(sets, threshold), threshold) for threshold in chosen)


def _raw(points, wrong, scores, threshold):
    probation = min(int(PROBATION * len(points)), int(PROBATION * 5000), PROBATION_MOST)
    total, caught = 0.0, set()
    index = {at: n for n, (at, _) in enumerate(points)}
    windows = [(index[begin], index[end]) for begin, end in wrong]
    for n, score in enumerate(scores):
        if n < probation or score < threshold:
            continue
        inside = next((w for w, (begin, end) in enumerate(windows) if begin <= n <= end), None)
        if inside is not None:
            if inside not in caught:
                begin, end = windows[inside]
                total += TRUE * sigmoid(-(end - n + 1) / (end - begin + 1))
                caught.add(inside)
            continue
        before = [window for window in windows if window[1] < n]
        if before:
            begin, end = before[-1]
            total += FALSE * sigmoid((n - end) / max(1, end - begin))
        else:
            total -= FALSE
    return total - MISSED * (len(windows) - len(caught))


def windowed_gaussian(points, window=6400, step=100):
    """How far in the tail of a normal distribution through the points before each lies."""
    scores, values, mean, spread = [], [], 0.0, 0.0
    for n, (_, value) in enumerate(points):
        score = 0.0
        if values:
            gap = abs(value - mean) / (spread or 1e-6)
            score = -math.log10(max(1e-300, math.erfc(gap / math.sqrt(2))))
        scores.append(score)
        if len(values) < window or n % step == 0:
            values = [*values[-window + 1 :], value] if len(values) < window else [v for _, v in points[n - window : n]]
            if n < 200 or n % step == 0:
                mean = math.fsum(values) / len(values)
                spread = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    return scores


def scaled_error(past, truth, told, period=24):
    """The mean absolute error, of that of `as a day before` in the past."""
    usual = math.fsum(abs(past[n] - past[n - period]) for n in range(period, len(past))) / (len(past) - period)
    return math.fsum(abs(a - b) for a, b in zip(truth, told, strict=True)) / len(truth) / (usual or 1e-9)
