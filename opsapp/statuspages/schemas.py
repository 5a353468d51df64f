"""Queries and smaller answers of /api/status; `opsapp.statuspages.records` declares the page and its subscribers."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, choice, map_of, text, whole


class NewLogo(Body):
    image = text(1, 300_000, pattern=r"[A-Za-z0-9+/]+={0,2}", must="be a picture in base64")


class SubscriptionAsked(Body):
    status = choice("asked")
    message = text()


class SubscriptionQuery(Paging):
    limit = whole(1, 1000, default=100)
    state = choice("pending", "confirmed", default=None)


class SubscriptionCounts(Body):
    confirmed = map_of(whole(0))
    pending = whole(0)
    waiting = whole(0)
