"""The query and the answer of /api/audit."""

from __future__ import annotations

import colander

from opsapp.web.fields import Anything, Body, Flag, Nullable, Paging, Text, Whole


class AuditQuery(Paging):
    limit = colander.SchemaNode(Whole(1, 1000), missing=100)
    user = colander.SchemaNode(Text(1, 256), missing=None)
    action = colander.SchemaNode(Text(1, 200), missing=None)
    target = colander.SchemaNode(Text(1, 500), missing=None)
    since = colander.SchemaNode(Whole(0, 10**11), missing=None)


class AuditEntry(Body):
    id = colander.SchemaNode(Text())
    time = colander.SchemaNode(Whole())
    username = colander.SchemaNode(Nullable(Text()))
    ip = colander.SchemaNode(Nullable(Text()))
    action = colander.SchemaNode(Text())
    target = colander.SchemaNode(Text())
    result = colander.SchemaNode(Text())
    reason = colander.SchemaNode(Nullable(Text()))
    before = colander.SchemaNode(Nullable(Anything()))
    after = colander.SchemaNode(Nullable(Anything()))


class AuditVerdict(Body):
    valid = colander.SchemaNode(Flag())
    entries = colander.SchemaNode(Whole())
    first_bad = colander.SchemaNode(Nullable(Text()))
    reason = colander.SchemaNode(Text(), missing=colander.drop)


class AuditRetention(Body):
    """The section `retention.audit`: how long entries are kept; how many refusals a minute get their own."""

    days = colander.SchemaNode(Whole(1, 36_500), missing=730)
    refusals_of_a_kind = colander.SchemaNode(Whole(1, 100_000), missing=20)
    refusals = colander.SchemaNode(Whole(1, 100_000), missing=1000)
