"""Answers that mean the same in every room."""

from __future__ import annotations

from .fields import Body, choice, text


class Created(Body):
    id = text()
    status = choice("created")


class Updated(Body):
    status = choice("updated")


class Deleted(Body):
    status = choice("deleted")
