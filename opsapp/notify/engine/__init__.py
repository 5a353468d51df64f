"""Notifications at work, and what other rooms call: `tell`, inside their transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opsapp.lib.addresses import public_text
from opsapp.lib.visible import clip
from opsapp.notify.interfaces import ISilence
from opsapp.notify.logic import LONGEST_TEXT, LONGEST_TITLE, SEVERITIES
from opsapp.notify.logic.destinations import CHANNEL, retry_at
from opsapp.notify.logic.messagegroups import GONE, Told
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.notify.resources import inbox
from opsapp.notify.resources.confidential import Confidential, seal
from opsapp.runtime.node import node_of
from opsapp.runtime.secrets.seals import opener_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from .answers import HeldLink, channels_answering, count_wrong_link, held_link
from .outbound import denied_networks, networks_denied
from .routes import call, send_to
from .settings import QUEUE


def tell(
    root: Root,
    now: float,
    *,
    key: str,
    kind: str,
    severity: str,
    title: str,
    text: str,
    tags: Iterable[str] = (),
    target: str | None = None,
    ids: Mapping[str, str] | None = None,
    confidential: Confidential | None = None,
    phase: str = "",
    name: str = "",
    despite_window: bool = False,
) -> None:
    """Tell people something, in the transaction that makes it true. Durable from the commit on.

    `key` is the root cause: what is told under one key within a minute is one message. By habit it is `family:thing`
    (`incident:4f2a…`), and `kind` is `family.what` (`incident.opened`).

    `target` is what it is about, an id or a name of a monitor or an agent (or `hostname/NAME`); `ids` are those of what
    it is about by their nouns (`incident`, `monitor`, `rule`, …), and lead to its page. Nothing is told of a target
    that a maintenance window keeps silent (`despite_window`: but what a person has to see to), and what is told of one
    that fails for another's sake joins the message about the root cause.

    `confidential` is sent in the place of title and text, and shown to nobody else; so is what an address in them
    hides, where there is a master key.

    `phase` says that something `begins`, is `over` (under the same key), or that this `also` tells of what may have
    begun; `name` is then what the thing is called in the graph. What has one root cause has one message when it begins,
    and one when it is over. What stands `apart` is a message of its own. `gone` says that what was told so under the
    key `name` is over: it is withdrawn where it has not left, and if it was told to nobody, this end is not told
    either.
    """
    if severity not in SEVERITIES:
        raise ValueError(f"severity is one of {', '.join(SEVERITIES)}, not {severity!r}")
    if target is not None and not despite_window and is_silent(root, target, now):
        return
    seen_title, seen_text = public_text(title), public_text(text)
    if confidential is None and (seen_title, seen_text) != (title, text) and opener_of(root).can_seal:
        confidential = Confidential(title, text, ())
    sealed = None
    if confidential is not None:
        title_sent, text_sent = clip(confidential.title, LONGEST_TITLE), clip(confidential.text, LONGEST_TEXT)
        sealed = seal(root, Confidential(title_sent, text_sent, confidential.secrets))
    title, text = clip(seen_title, LONGEST_TITLE), clip(seen_text, LONGEST_TEXT)
    row = Told(now, key, kind, severity, title, text, tuple(tags), target, phase, name, sealed, {**(ids or {})})
    inbox.put(root, row)
    wake_after_commit(root, QUEUE)


def withdraw(root: Root, now: float, key: str) -> None:
    """What was told `apart` under this key is over: what of it has not left is not sent, and nothing else is told."""
    inbox.put(root, Told(now, key, "", "info", "", phase=GONE, name=key))
    wake_after_commit(root, QUEUE)


def is_silent(root: Root, target: str, now: float) -> bool:
    """Whether a maintenance window keeps this target silent."""
    silence = node_of(root).registry.queryUtility(ISilence)
    return silence is not None and silence(root, target, now)
