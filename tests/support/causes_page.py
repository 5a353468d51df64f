"""docs/guide/causes.md as it has to be: a line for each row of the table of causes.

`python -m tests.support.causes_page` writes it.
"""

import re
from pathlib import Path

from opsapp.wire.causes import ANYTHING, CAUSES, LOOK_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/causes.md"
HEAD = f"""# Causes

Before the first step of a case, and before each further one, the host is asked why it is as it is.
The agent looks for at most {LOOK_S:g} seconds and only reads. What it finds is one of the causes below,
from the table that the service and the agent share (`opsapp/wire/causes.py`). This page is written
by `python -m tests.support.causes_page`, and a test compares it.

**Where it is shown.** The first line of the message, the page of the case, the incident's page,
`cause` of `GET /api/healing/cases/{{case_id}}` and of the ledger's entry. The evidence (last lines of
the unit, largest files) is on the case alone, for operators; for admins where the unit's log is
private (`agents.private_logs`). If nothing was found, `cause` is null.

**No step in vain.** Where the table says that no step helps, no step is tried: the case ends
`skipped`, reason `in_vain: …`, and people are told at once what they can do. Steps that do what
people have written ({", ".join(f"`{name}`" for name in sorted(ANYTHING))})
are still taken, and so are the actions named in the table.

**Who is asked.** The agent of the host that the case is about. Rules that only observe or try dry
ask nobody, nor does what is only predicted, nor anything while the brake is on. An older agent is
not asked. If there is no answer within 5 seconds, the cause is unknown and the case goes on.

The agent tests the configuration of units that it knows, as their own units do before each start:
nginx, ssh, apache2, httpd, haproxy, named, bind9, unbound, dnsmasq, rsyslog. A host that heals
alone does not look before its first step; if a step fails there, its reason has the cause.

| Cause | What is said | A step helps | What a person can do |
|---|---|---|---|
"""


def helps(kind):
    if not kind.no_step_helps:
        return "maybe"
    return f"only {', '.join(f'`{name}`' for name in sorted(kind.helped_by))}" if kind.helped_by else "no"


def page():
    rows = [
        f"| `{kind.id}` | {re.sub(r'{(.+?)}', lambda name: name[1].upper(), kind.sentence)} | {helps(kind)} |"
        f" {kind.by_hand} |"
        for kind in CAUSES.values()
    ]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
