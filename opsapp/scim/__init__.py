"""SCIM 2.0 (RFC 7643, 7644) at /scim/v2: an identity provider makes, changes and ends users, and tells who is in which
group. Its tokens are at /api/scim-tokens. Must not: decide what that means (auth.engine.provisionedaccounts)."""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    from opsapp.web.errors import IErrorDocument

    from . import policy
    from .views.answers import error_document

    config.registry.registerUtility(error_document, IErrorDocument, "scim")
    config.add_preparation("opsapp.scim.policy.prepare")
    config.add_credential_reader(policy.read_token)
    config.scan("opsapp.scim.views")
