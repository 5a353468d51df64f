"""Asks the identity provider. Blocks: runs in a lane of its own. It adds to `oic` the check of the nonce, the demand
for a signature (`oic` accepts `none`), the check that the key is the provider's, and errors that `oic` returns as
answers."""

from __future__ import annotations

import hmac
import logging
from typing import TYPE_CHECKING, Any

from opsapp.auth.config import OidcSettings
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.networks import is_protected
from opsapp.lib.problems import Malformed, UpstreamFailed

if TYPE_CHECKING:
    from oic.oic import Client

# `oic` and what it brings are imported where they are used: a third of a start, and few have a provider.
log = logging.getLogger(__name__)

TIMEOUT_S = 5.0
SIGNED_WITH = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"})
SKEW_S = 60  # how far the provider's clock may be ahead of ours
KEYS_IN_THE_TOKEN = ("jku", "jwk", "x5u", "x5c")


ENDPOINTS = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")


class ProviderRefused(Exception):
    """The provider's answer is not to be believed; says why, for the log."""


class ProviderSilent(Malformed):
    code = "provider_error"


def discover(settings: OidcSettings) -> str:
    """The provider's description as JSON text; empty when it does not answer, or says what cannot be."""
    try:
        client = _client(settings, None)
    except Exception as problem:  # noqa: BLE001 - whatever oic makes of an answer
        log.warning("identity provider not reached: %s: %s", type(problem).__name__, problem)
        return ""
    return client.provider_info.to_json()


def unreachable() -> UpstreamFailed:
    return UpstreamFailed("The identity provider cannot be reached.", code="provider_unreachable")


def authorization_address(settings: OidcSettings, description: str, state: str, nonce: str, challenge: str) -> str:
    """Where the browser is sent. Asks nobody."""
    client = _client(settings, description)
    request = client.construct_AuthorizationRequest(
        request_args={
            "response_type": "code",
            "scope": list(settings.scopes),
            "redirect_uri": settings.redirect_uri,
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
    )
    return request.request(client.authorization_endpoint)


def identify(settings: OidcSettings, description: str, state: str, code: str, verifier: str, nonce: str) -> JsonObject:
    """The claims of who signed in; Malformed when anything is not as it must be."""
    from requests import RequestException

    try:
        return _identify(_client(settings, description), settings, state, code, verifier, nonce)
    except RequestException as problem:
        log.warning("identity provider not reached: %s", type(problem).__name__)
        raise ProviderSilent("The identity provider did not answer.") from problem
    except Exception as problem:
        log.warning("identity provider's answer refused: %s: %s", type(problem).__name__, problem)
        raise Malformed("The identity provider's answer could not be verified.", code="bad_id_token") from problem


def takes_tokens(settings: OidcSettings, description: str) -> bool:
    """It may say that this is no sound request."""
    try:
        client = _client(settings, description)
        client.http_request(client.token_endpoint or "", method="POST", data={"grant_type": "authorization_code"})
    except Exception as problem:  # noqa: BLE001 - whatever oic makes of it
        log.warning("identity provider not reached: %s", type(problem).__name__)
        return False
    return True


def _client(settings: OidcSettings, description: str | None) -> Client:
    from oic.oic import Client
    from oic.oic.message import ProviderConfigurationResponse
    from oic.utils.authn.client import CLIENT_AUTHN_METHOD
    from oic.utils.settings import OicClientSettings

    # Each said, because these settings would otherwise be read from the environment under common names.
    known = OicClientSettings(verify_ssl=True, client_cert=None, timeout=TIMEOUT_S, requests_session=None)
    client = Client(client_id=settings.client_id, client_authn_method=CLIENT_AUTHN_METHOD, settings=known)
    client.redirect_uris = [settings.redirect_uri or ""]
    # A token that does not name its key is looked up under everybody it names, us among them; without this oic logs an
    # error at each good sign-in. We have no keys that anything could be signed with.
    client.keyjar[settings.client_id or ""] = []
    if settings.client_secret:
        client.client_secret = settings.client_secret
    if description is None:
        client.provider_config(settings.issuer or "")
    else:
        description_read: Any = ProviderConfigurationResponse().from_json(description)
        client.handle_provider_config(description_read, settings.issuer or "")
    for name in ENDPOINTS:
        if not is_protected(client.provider_info.get(name) or "https:"):
            raise ProviderRefused(f"the provider's {name} is not https")
    return client


def _identify(client: Client, settings: OidcSettings, state: str, code: str, verifier: str, nonce: str) -> JsonObject:
    from oic.oic.message import AccessTokenResponse, AuthorizationResponse
    from oic.utils.time_util import utc_time_sans_frac

    client.parse_response(AuthorizationResponse, {"code": code, "state": state}, sformat="dict")
    answer = client.do_access_token_request(
        state=state,
        request_args={"redirect_uri": settings.redirect_uri, "code_verifier": verifier},
        authn_method=_authentication(client, settings),
        skew=SKEW_S,
    )
    if not isinstance(answer, AccessTokenResponse) or "id_token" not in answer:
        raise ProviderRefused(f"no id_token in a {type(answer).__name__}")
    token = answer["id_token"]
    check(token, client.provider_info["issuer"], settings.client_id or "", nonce, utc_time_sans_frac())
    return _with_userinfo(client, state, token.to_dict(), settings.role_claim)


def _authentication(client: Client, settings: OidcSettings) -> str:
    if not settings.client_secret:
        return ""
    offered = client.provider_info.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return "client_secret_basic" if "client_secret_basic" in offered else "client_secret_post"


def check(token: Any, issuer: str, client_id: str, nonce: str, now: int) -> None:
    """Check an id_token whose signature oic has seen. oic lets `SKEW_S` pass at both ends; at the end nothing is let
    pass here."""
    from oic.oic.message import IdToken

    if not isinstance(token, IdToken):
        raise ProviderRefused(f"the id_token is a {type(token).__name__}")
    header = token.jws_header or {}
    if header.get("alg") not in SIGNED_WITH:
        raise ProviderRefused(f"the id_token is signed with {header.get('alg')!r}")
    if any(name in header for name in KEYS_IN_THE_TOKEN):
        raise ProviderRefused("the id_token brings its own key")
    if token.get("iss") != issuer:
        raise ProviderRefused("another issuer")
    if client_id not in token.get("aud", []) or token.get("azp", client_id) != client_id:
        raise ProviderRefused("for another client")
    if not hmac.compare_digest(str(token.get("nonce", "")).encode(), nonce.encode()):
        raise ProviderRefused("another nonce")
    if token["exp"] < now:
        raise ProviderRefused("expired")
    if not isinstance(token.get("nbf", 0), int | float) or token.get("nbf", 0) > now + SKEW_S:
        raise ProviderRefused("not valid yet")
    if not isinstance(token.get("sub"), str) or not token["sub"]:
        raise ProviderRefused("no subject")


def _with_userinfo(client: Client, state: str, claims: JsonObject, role_claim: str) -> JsonObject:
    """Many providers tell the role at their userinfo address only."""
    if (
        role_claim in claims
        or role_claim.split(".", maxsplit=1)[0] in claims
        or not client.provider_info.get("userinfo_endpoint")
    ):
        return claims
    more = client.do_user_info_request("GET", state=state)
    if more.get("error") or more.get("sub") != claims["sub"]:
        raise ProviderRefused("userinfo is about somebody else")
    return more.to_dict() | claims
