"""Links by which a message is answered: made when it leaves, and what holds of one when it comes back.

A link answers for the one person that an admin named for its channel, with the rights that this person has then. It is
stored nowhere. It ends with its time, with what it was for, and with anything that ends this person's sessions.
Must not: know what is answered; the rooms above register a `LinkedAct` for each act.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.auth.engine import count_attempt, counter_of_address
from opsapp.auth.resources import find_enabled
from opsapp.lib.problems import Gone, NotFound
from opsapp.notify.interfaces import Answerer, IAnswer, IPageAddresses, LinkedAct, LinkTerms
from opsapp.notify.logic.answerlinks import LIFE_S, AnswerLink, bound_to, read
from opsapp.notify.logic.texts import AnswerButton, MessageContent
from opsapp.notify.resources import Channel, channels_of
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.secrets.seals import seal_of
from opsapp.tree.acl import roles_up_to
from opsapp.tree.root import Root

PURPOSE = "answers"
LOWEST = "operator"  # what the API asks of who decides or takes over


class HeldLink(NamedTuple):
    link: AnswerLink
    channel: str
    by: Answerer
    answer: LinkedAct


def buttons_of(root: Root, channel: Channel, message: MessageContent) -> tuple[AnswerButton, ...]:
    """The buttons of a message that is sent to one person's channel."""
    node = node_of(root)
    addresses, by = node.registry.queryUtility(IPageAddresses), answerer_of(root, channel)
    if by is None or addresses is None:
        return ()
    buttons = []
    for act, answer in sorted(node.registry.getUtilitiesFor(IAnswer)):
        thing_id = message.ids.get(answer.noun, "")
        terms = answer.terms(root, thing_id) if thing_id else None
        if terms is not None and answer.refusal(root, thing_id, by) is None:
            until = int(min(node.clock.now() + LIFE_S, terms.until or float("inf")))
            link = AnswerLink(act, thing_id, channel.id, until, _bound(root, channel, by, terms))
            address = addresses.answering(link.token(seal_of(root).derived(PURPOSE)))
            buttons += [AnswerButton(act, answer.label, address)] if address else []
    return tuple(buttons)


def answerer_of(root: Root, channel: Channel) -> Answerer | None:
    """The channel's person, if they may decide anything."""
    user = find_enabled(root, channel.record.answers_as)
    return Answerer(user.__name__, user.role) if user is not None and LOWEST in roles_up_to(user.role) else None


def channels_answering(root: Root, username: str) -> list[Channel]:
    """Those that reach this one person."""
    channels = channels_of(root).values()
    return [channel for channel in channels if channel.record.enabled and channel.record.answers_as == username]


def _bound(root: Root, channel: Channel, by: Answerer, terms: LinkTerms) -> str:
    """Changes with the person's role or password, with the channel's person or address, and with what is asked."""
    user = find_enabled(root, by.name)
    assert user is not None
    return bound_to(by.name, user.generation, channel.address(seal_of(root)), terms.content)


def held_link(root: Root, token: str) -> HeldLink:
    """NotFound: it is no link of ours. Gone: it was one."""
    node = node_of(root)
    link = read(token, seal_of(root).all_derived(PURPOSE))
    if link is None:
        raise NotFound("This is no link of this service, or a part of it is missing.")
    if node.clock.now() >= link.until:
        raise Gone("This link has expired. Sign in to answer.")
    channel, answer = channels_of(root).get(link.channel_id), node.registry.queryUtility(IAnswer, link.act)
    by = answerer_of(root, channel) if channel is not None and channel.record.enabled else None
    terms = None if answer is None else answer.terms(root, link.thing_id)
    if by is None or terms is None or _bound(root, channel, by, terms) != link.bound:
        raise Gone("This link is not valid any more: its user, its channel or what it asked has changed.")
    return HeldLink(link, channel.record.name, by, answer)


def count_wrong_link(node: Node, ip: str) -> None:
    """TooMany where too many came from this address; those that are links are always answered."""
    count_attempt(node, [counter_of_address(node, "answer", ip)])
