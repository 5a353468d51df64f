"""dns: a question to one resolver, `dns://resolver[:port]/name?type=A`; right when it answers with such records.

`expected_value`, when given, must be among the answers.
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs, urlsplit

import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype
import gevent

from opsapp.monitoring.probes import names
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget


def probe(prober, target: ProbeTarget) -> Outcome:
    parts = urlsplit(target.url)
    name, kind = parts.path.strip("/"), parse_qs(parts.query).get("type", ["A"])[0].upper()
    with gevent.Timeout(target.timeout, TimeoutError()):
        server = prober.allowed_addresses(parts.hostname, target.timeout)[0]
        started = prober.monotonic()
        try:
            query = dns.message.make_query(name, kind, id=secrets.randbelow(65536))
            answer = names.ask(server, parts.port or 53, query, target.timeout)
        except dns.exception.DNSException as error:
            return Outcome(False, None, f"{name}: {error}")
    elapsed = round((prober.monotonic() - started) * 1000, 2)
    problem = _problem(answer, name, kind, target.expected_value)
    return Outcome(not problem, elapsed, problem or f"{kind} answered")


def _bare(text: str) -> str:
    """People leave out the quotes of a text and the dot behind a name."""
    return text.strip('"').rstrip(".")


def _problem(answer: dns.message.Message, name: str, kind: str, expected) -> str:
    if answer.rcode() != dns.rcode.NOERROR:
        return f"{name}: {dns.rcode.to_text(answer.rcode())}"
    wanted = dns.rdatatype.from_text(kind)
    found = [record.to_text() for rrset in answer.answer if rrset.rdtype == wanted for record in rrset]
    if not found:
        return f"{name} has no {kind} record"
    if expected is not None and _bare(str(expected)) not in map(_bare, found):
        return f"{name}: {expected} is not among {', '.join(sorted(found))[:200]}"
    return ""
