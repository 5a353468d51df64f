"""Whose request it is, as an address: the socket's, or what trusted proxies say of it."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.lib.networks import client_address

from .config import WebSettings


def client_ip(request: Request) -> str:
    """`request.client_ip`. Never use webob's `client_addr`: it believes X-Forwarded-For from anybody."""
    trusted = request.node.config[WebSettings].trusted_proxies
    forwarded = request.headers.get("X-Forwarded-For", "")
    return client_address(request.environ.get("REMOTE_ADDR", ""), forwarded, trusted)


def includeme(config: Any) -> None:
    config.add_request_method(client_ip, "client_ip", reify=True)
