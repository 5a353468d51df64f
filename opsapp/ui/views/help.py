"""/help: the guide, its contents and one page of it."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import guidebook
from opsapp.ui.pages import page
from opsapp.web import api


class HelpContents(Facet):
    """The guide."""

    def __getitem__(self, name: str) -> Any:
        if name not in guidebook.pages():
            raise KeyError(name)
        return HelpPage(self, name)


class HelpPage(Facet):
    """One page of it."""

    url = "/help/{page}"


add_facet(Root, "help", HelpContents)


@api.get(HelpContents, teams="own")
def contents(context: HelpContents, request: Request) -> Response:
    return page(request, "help.jinja2", title="Help", groups=guidebook.groups())


@api.get(HelpPage, teams="own")
def shown(context: HelpPage, request: Request) -> Response:
    name = context.__name__
    known = guidebook.pages()[name]
    return page(request, "help_page.jinja2", title=known.title, guide=known, text=guidebook.html(name))
