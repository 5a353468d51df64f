"""Pure decisions about messages, on plain values, with `now` passed in."""

SEVERITIES = ("info", "warning", "critical")
STATUSES = ("queued", "sending", "sent", "failed", "merged", "dropped")  # of a delivery
KINDS = ("message", "digest", "test")
LONGEST_TITLE = 200
LONGEST_TEXT = 4000


def rank(severity: str) -> int:
    return SEVERITIES.index(severity)
