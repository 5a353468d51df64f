"""Answers that mean the same in every room."""

from __future__ import annotations

from .fields import Body, choice, flag, text, whole


class Created(Body):
    id = text()
    status = choice("created")


class Updated(Body):
    status = choice("updated")


class Deleted(Body):
    status = choice("deleted")


class ChainAnswer(Body):
    """Whether a signed chain of records is whole, and where it is not."""

    valid = flag()
    entries = whole()
    first_bad = whole(null=True)
    reason = text(optional=True)
