"""/: the first page. It lies at the root of the tree, where no planned page can."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.tree.root import Root
from opsapp.ui.pages import frame_part, see_other
from opsapp.ui.views import rooms
from opsapp.web import api

HOME = "/"


@api.get(Root, teams="filtered")
def overview(context: Root, request: Request) -> Response:
    if request.sight is not None:  # it is made of everything; what a team sees begins with its monitors
        return frame_part(request) or see_other("/monitors")
    return frame_part(request) or rooms.show(request, *rooms.found_at(request, HOME), HOME)


@api.submit(Root)
def decided(context: Root, request: Request) -> Any:
    return rooms.change(request, *rooms.found_at(request, HOME), HOME)
