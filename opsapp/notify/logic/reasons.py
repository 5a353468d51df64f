"""Why a message was not taken, in a sentence for people, from what the library that sends it says. Pure.

Must not: replace the library's words, which stay in the log of deliveries.
"""

from __future__ import annotations

import re

_STATUS = re.compile(r"\berror=(\d{3})\b")
_LIBRARY = re.compile(r"Errno|Error\b|Exception|ConnectionPool|error=\d|\boccurred\b")
_SAID = (  # what is looked for, in this order, and what it means
    (r"deny_networks", "Its address is in a network that monitoring.deny_networks names."),
    (r"Connection refused|Errno 111", "Nothing listens at its address: the connection was refused."),
    (
        r"NameResolutionError|Name or service not known|name resolution|No address associated|Errno -[235]\b",
        "The name in its address is not known here.",
    ),
    (r"No route to host|Network is unreachable|Errno (?:101|113)", "There is no way to its address from this server."),
    (r"CERTIFICATE_VERIFY_FAILED|certificate verify", "Its certificate is not trusted by this server."),
    (r"SSLError|\bSSL:|WRONG_VERSION", "No secure connection could be made: does it speak TLS at this port?"),
    (r"timed out|[Tt]imeout|no answer within", "It did not answer in time."),
    (
        r"Connection aborted|RemoteDisconnected|Connection reset|Errno 104",
        "It closed the connection without an answer.",
    ),
    (r"[Aa]uthentication|SMTPAuth|\b535\b", "It does not accept the user name or the password."),
)
_CODES = {
    400: "It did not understand the message",
    401: "It does not accept the password or token",
    403: "It does not permit this",
    404: "There is nothing at its address",
    405: "Its address takes no messages",
    410: "There is nothing at its address any more",
    413: "The message is too long for it",
    429: "It was sent too many messages and asks to wait",
}


def reason_of(error: str) -> str:
    """What the service itself says in words stays as it is."""
    status = _STATUS.search(error)
    if status is not None:
        return _of_status(int(status[1]))
    for pattern, sentence in _SAID:
        if re.search(pattern, error):
            return sentence
    if _LIBRARY.search(error) and not re.search(r"\b[45]\d\d\b", error):
        return "It did not accept the message."
    return error[:1].upper() + error[1:] + ("" if error[-1:] in ".!?…" else ".")


def _of_status(status: int) -> str:
    if 300 <= status < 400:
        return f"It has moved to another address, which is not followed (HTTP {status})."
    if status >= 500:
        return f"It has an error of its own (HTTP {status})."
    return f"{_CODES.get(status, 'It did not accept the message')} (HTTP {status})."
