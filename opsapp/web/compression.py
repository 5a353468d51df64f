"""Pages in fewer bytes: gzip for HTML.

A link on another site may ask for a page again and again, and its length is seen on the way (BREACH). So secrets are
masked anew in each page (`auth.cookies.masked_token`), and only GET is compressed: what is shown once answers a form.
"""

from __future__ import annotations

import gzip

from pyramid.response import Response

from .asked import Asked

LEAST = 1024
LEVEL = 5


def pack(asked: Asked, response: Response) -> None:
    if asked.method != "GET" or response.status_int != 200 or response.content_type != "text/html":
        return
    if response.content_encoding or response.etag or not isinstance(response.app_iter, list):
        return
    response.vary = (*(response.vary or ()), "Accept-Encoding")
    body = response.body
    if len(body) < LEAST or not takes_gzip(asked.encodings):
        return
    response.body = gzip.compress(body, LEVEL, mtime=0)
    response.content_encoding = "gzip"


def takes_gzip(encodings: str) -> bool:
    """Whether Accept-Encoding allows it by name; `gzip;q=0` does not."""
    for encoding in encodings.lower().split(","):
        name, _, weight = encoding.strip().partition(";")
        if name.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
