"""Charts as SVG, drawn by the server: pure functions from plain values to Markup.

    bars(checks, "Checkout, the last 30 checks", slots=30)     a strip: the taller, the worse; the newest at the right
    strip(days, "Checkout, 90 days", ("24 Aug", "today"))      the same, large, with the day under the finger in words
    sparkline(values, "95 % within, 24 hours")                 a line as small as a word
    line_chart("Response time", axis, times, curves, looks)    lines over time
    before_after(plots, axis, times, marks, held, looks)       readings around acts, on one time axis
    fan("Disk /var", axis, times, values, outlook, limit)      what was measured, and what is expected
    survival(drops, horizon, act)                              the share that is still broken if nobody acts
    lift(healed, alone)                                        one disc for each case, full if it recovered in time
    interval("Lift", 9, 71, 98)                                from how much fewer to how much more, in points
    phases(parts)                                              where the time of one answer went

Times are seconds since the epoch. None was not measured: lines break there, and where two times are further apart than
one and a half `Looks.step`. The y axis starts at zero. Every chart but the small ones carries its
figures as a table, which `static/charts.js` reads for its crosshair.

Looks are classes of the style sheets; there is no style attribute. Must not: know a page, ask the API.
"""

from .frame import BYTES, MILLISECONDS, PERCENT, PLAIN, RATE, ActMark, Limit, TimeAxis, Unit, grouped, unit_of
from .lines import Curve, Looks, Plot, before_after, line_chart
from .outlook import Outlook, fan
from .shares import Drop, PhaseTime, TrialCount, interval, lift, phases, survival
from .strips import Bar, bars, sparkline, strip
