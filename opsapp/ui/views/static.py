"""/static/{digest}/{name}: kept for a year; under a plain name or an old digest it is asked for anew."""

from __future__ import annotations

from pyramid.httpexceptions import HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response

from opsapp.tree.root import Root
from opsapp.ui import files
from opsapp.web.compression import takes_gzip


def served(context: Root, request: Request) -> Response:
    *before, name = request.subpath or ("",)
    file = files.files().get(name)
    if file is None or len(before) > 1:
        raise HTTPNotFound
    fresh = before == [files.digest()]
    response = Response(content_type=file.kind, charset="utf-8")
    packs = takes_gzip(request.headers.get("Accept-Encoding", ""))
    response.body = file.packed if packs else file.plain
    if packs:
        response.content_encoding = "gzip"
    response.vary = ("Accept-Encoding",)
    kept = f"public, max-age={files.YEAR_S}, immutable" if fresh else "no-cache"
    response.headers["Cache-Control"] = kept
    return response
