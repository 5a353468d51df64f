"""What was told becomes messages, and messages become deliveries. Under the lease `notify`: one writer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opsapp.lib.addresses import public_text
from opsapp.lib.visible import clip
from opsapp.notify.interfaces import Failure, ICauses, RootCause
from opsapp.notify.logic import LONGEST_TEXT, LONGEST_TITLE, destinations, messagegroups, quiet
from opsapp.notify.logic.messagegroups import MessageGroup, Told
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources import channels_of, deliveries_of, inbox
from opsapp.notify.resources.deliveries import Deliveries
from opsapp.notify.resources.groups import Groups, family_of, groups_of
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from .settings import LEASE, SENDING, options

ROWS_AT_ONCE = 1000
GROUPS_AT_ONCE = 200


def step(node: Node) -> bool:
    """Whether there was anything to do."""
    now = node.clock.now()
    return bool(node.transact(anything, now)) and node.transact(route, now)


def anything(root: Root, now: float) -> bool:
    """A look that costs nothing."""
    return inbox.waiting(root) or bool(groups_of(root).due(now, 1)) or PIECES.is_left(root)


def _shift_rest(root: Root, channel_id: str, by: float) -> int:
    channel = channels_of(root).get(channel_id)
    if channel is not None and channel.rests_until:
        channel.rests_until += by
    return 1


PIECES = ClockPieces(
    LEASE,
    LEASE,
    {
        "rests": WaitingKind(lambda root, _: channels_of(root).keys(), _shift_rest),
        "groups": WaitingKind(
            lambda root, _: groups_of(root).groups,
            lambda root, key, by: groups_of(root).shift(key, by, options(node_of(root)).group_s),
        ),
        "deliveries": WaitingKind(
            lambda root, _: deliveries_of(root).under_way(), lambda root, key, by: deliveries_of(root).shift(key, by)
        ),
    },
)


def route(root: Root, now: float) -> bool:
    """Put what was told into its groups, and groups that are due into messages, in one transaction."""
    leases.check(root, LEASE)
    if PIECES.goes_on(root):  # a node was killed while it moved them with the clock
        return True
    groups, settings = groups_of(root), options(node_of(root))
    wait_s, every_s = settings.group_wait_s, settings.group_s
    rows = inbox.take(root, ROWS_AT_ONCE)
    deliveries_of(root).withdraw({row.name for row in rows if row.phase == messagegroups.GONE}, now)
    gathered: dict[str, MessageGroup] = {}
    for row in rows:
        if row.phase == messagegroups.GONE and (_take_back(groups, gathered, row.name) or not row.title):
            continue
        key = _key_of(groups, row)
        group = gathered.get(key) or groups.get(key)
        before = groups.before(key, group, row.key)
        gathered[key] = messagegroups.gather(group, row, before, now, wait_s, every_s)
        groups.note(key, row)
    for key, group in gathered.items():
        _keep(root, groups, key, group, every_s)
    due = groups.due(now, GROUPS_AT_ONCE)
    asked = [groups.get(key) for key in dict.fromkeys((*gathered, *due))]
    causes = _causes(root, asked, now)
    for key in due:
        _look_at(root, groups, key, causes, now, settings)
    return bool(rows or due)


def _take_back(groups: Groups, gathered: dict[str, MessageGroup], key: str) -> bool:
    """Whether nothing of it was told before."""
    group, stored = gathered.pop(key, None), groups.get(key)
    if stored is not None:
        groups.drop(key)
    group = group or stored
    return group is not None and group.told is None


def _key_of(groups: Groups, row: Told) -> str:
    """Its own key, or that of the group in which it is open, or which has gathered for its target as a root cause."""
    if row.phase == messagegroups.APART:
        return row.key
    if row.phase in (messagegroups.BEGINS, messagegroups.ALSO, messagegroups.OVER):
        home = groups.home(row.key, "" if row.phase == messagegroups.OVER else row.name)
        if home is not None:
            return home
    if row.target is None:
        return row.key
    as_cause = f"{family_of(row.key)}:{row.target}"
    return as_cause if groups.get(as_cause) is not None else row.key


def _keep(root: Root, groups: Groups, key: str, group: MessageGroup, every_s: float) -> None:
    """What was absorbed counts for the message that it would have repeated."""
    if group.absorbed and group.told is not None:
        message = deliveries_of(root).messages.get(group.told.message_id)
        if message is not None:
            message.fields = {**message.fields, "events": message.fields["events"] + group.absorbed}
        group = group._replace(absorbed=0)
    groups.put(key, group, every_s)


def _look_at(
    root: Root,
    groups: Groups,
    key: str,
    causes: Mapping[Failure, RootCause],
    now: float,
    settings: NotificationSettings,
) -> None:
    group = groups.get(key)
    if group is None:
        return
    if group.due is None:
        groups.drop(key)
        return
    every_s = settings.group_s
    hangs = group.target is not None and not group.apart
    cause = causes.get(_failure(str(group.target), group), RootCause()) if hangs else RootCause()
    if cause.name is not None and key != (rightful := _rightful(groups, key, cause.name)):
        _move(root, groups, key, rightful, cause.name, now, settings)
    elif cause.wait:
        groups.put(key, messagegroups.postponed(group, now), every_s)
    else:
        message_id = _publish(root, key, group, cause.name, now)
        groups.put(key, messagegroups.told(group, message_id, now), every_s)


def _causes(root: Root, asked: Iterable[MessageGroup | None], now: float) -> Mapping[Failure, RootCause]:
    """The causes for all groups at once: the graph and what has failed are read once. It also asks for what has only
    just been gathered, so that what it depends on is measured meanwhile."""
    causes = node_of(root).registry.queryUtility(ICauses)
    waiting = [group for group in asked if group is not None and group.due is not None and not group.apart]
    failures = {_failure(group.target, group) for group in waiting if group.target is not None}
    known: Mapping[Failure, RootCause] = causes(root, failures, now) if causes is not None and failures else {}
    return {failure: cause for failure, cause in known.items() if cause.name != failure.target}


def _failure(target: str, group: MessageGroup) -> Failure:
    return Failure(target, group.first_at if messagegroups.may_wait(group) else None)


def _rightful(groups: Groups, key: str, cause: str) -> str:
    """The key of the group about the root cause."""
    family = family_of(key)
    return groups.home(name=cause) or groups.about(family, cause) or f"{family}:{cause}"


def _move(
    root: Root, groups: Groups, key: str, rightful: str, cause: str, now: float, settings: NotificationSettings
) -> None:
    """What fails for another's sake is told with it."""
    group, home = groups.get(key), groups.get(rightful)
    assert group is not None
    groups.move(key, rightful)
    if home is None:
        moved = group._replace(told=None, due=now, root=cause)
    else:
        moved = messagegroups.join(home, group, now, 0.0, settings.group_s)
    _keep(root, groups, rightful, moved, settings.group_s)


def _publish(root: Root, key: str, group: MessageGroup, cause: str | None, now: float) -> str:
    """Publish the group's message, with a delivery for every channel that takes it."""
    log, about = deliveries_of(root), (group.kind, group.severity, group.title, group.text, group.tags, group.target)
    times, more = (group.first_at, group.last_at, group.events), (group.titles, group.sealed)
    content = MessageContent(key, *about, cause, *times, "", group.ids, *more)
    message_id = log.add_message(content, now)
    for channel in channels_of(root).values():
        if destinations.takes(channel.record, content):
            _post(root, channel, message_id, group.severity, now)
    return message_id


def _post(root: Root, channel: Any, message_id: str, severity: str, now: float) -> None:
    log = deliveries_of(root)
    due, held = _when(log, channel, severity, now, node_of(root).config.timezone)
    log.enqueue(channel, (message_id,), now, due, held)
    wake_after_commit(root, SENDING)


def send_to(
    root: Root, now: float, channel: Any, *, key: str, kind: str, title: str, text: str, ids: Mapping[str, str]
) -> None:
    """Whatever the channel takes of what all are told, in the transaction that makes it true. It waits for the end of
    quiet hours as others do."""
    content = MessageContent(key, kind, "info", title, text, first_at=now, last_at=now, ids=ids)
    _post(root, channel, deliveries_of(root).add_message(content, now), "info", now)


def call(
    root: Root,
    now: float,
    channel: Any,
    *,
    key: str,
    kind: str,
    title: str,
    text: str,
    target: str | None,
    ids: Mapping[str, str],
) -> str:
    """Neither quiet hours nor a digest hold it; the id of its delivery."""
    title, text = clip(public_text(title), LONGEST_TITLE), clip(public_text(text), LONGEST_TEXT)
    content = MessageContent(key, kind, "critical", title, text, target=target, first_at=now, last_at=now, ids=ids)
    log = deliveries_of(root)
    delivery = log.enqueue(channel, (log.add_message(content, now),), now, now, None)
    wake_after_commit(root, SENDING)
    return delivery.id


def _when(log: Deliveries, channel: Any, severity: str, now: float, zone: str) -> tuple[float, str | None]:
    """When a delivery is due, and what holds it until then. What is critical waits for no digest."""
    record = channel.record
    until = quiet.quiet_until(record.quiet_hours, severity, now, zone)
    if until is not None:
        return until, "quiet_hours"
    if not record.digest_s or severity == "critical":
        return now, None
    waiting = log.waiting_for(channel.id)
    gathering = [delivery.due for delivery in waiting if delivery.held == "digest" and delivery.due > now]
    return min(gathering, default=now + record.digest_s), "digest"
