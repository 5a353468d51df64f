"""Asking a running server. A token comes from --token, the environment, the prompt or standard input."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid

from .places import Mistaken, plain

TOKEN = "OPSAPP_TOKEN"
PATIENCE_S = 3600


def add_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", help="the address of a running server: ask it instead of opening the store")
    command.add_argument(
        "--token", help=f"a session's token or an API key; better in ${TOKEN} or on standard input, which nobody sees"
    )


def token_of(asked: argparse.Namespace) -> str:
    given = asked.token or os.environ.get(TOKEN)
    if not given:
        given = getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not given.strip():
        raise Mistaken(f"a token is needed: --token, ${TOKEN} or standard input")
    return given.strip()


def ask(
    url: str, token: str | None, method: str, path: str, body: JsonObject | None = None, *, patience: float = PATIENCE_S
) -> Any:
    """No token: it asks as nobody. Invalid where wrong fields are named, else a sentence for people."""
    try:
        request = urllib.request.Request(
            url.rstrip("/") + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=patience) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refusal:
        raise _refused(refusal) from None
    except (urllib.error.URLError, OSError, ValueError) as problem:
        raise Mistaken(f"the server cannot be asked: {plain(problem)}") from None


def _refused(refusal: urllib.error.HTTPError) -> Exception:
    try:
        answer = json.loads(refusal.read())
        fields, message = answer.get("fields"), answer["error"]
    except (ValueError, KeyError, AttributeError):
        return Mistaken(f"the server answered {refusal.code}")
    return Invalid(fields) if fields else Mistaken(f"the server answered {refusal.code}: {message}")
