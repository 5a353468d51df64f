"""Places of the API that belong to no feature; rooms may hang their own below them."""

from __future__ import annotations

from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api


class StatusFacet(Facet):
    """What load balancers ask, and the public page."""


class StoreFacet(Facet):
    """The store as a whole."""


add_facet(Api, "status", StatusFacet)
add_facet(Api, "store", StoreFacet)
