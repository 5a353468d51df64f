"""docs/guide/actions.md as it has to be: the action table, and where the tests perform each action.

`python -m tests.support.actions_page` writes it. A state is what the sources of the tests say: performed on a real
Debian host, against fake tools or servers only, or by the service.
"""

import re
from pathlib import Path

from opsapp.wire.actions import ACTIONS
from opsapp.wire.actiontypes import RISKS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/actions.md"
FLEET = ("test_actions.py", "test_actions_network.py", "test_default_chains.py")
FIXTURES = ("test_agent_ways.py", "test_agent_media.py")
HEAD = """# Actions

The 55 heal actions, from the table that the service and the agent share (`opsapp/wire/actions.py`).
This page is written by `python -m tests.support.actions_page`, and a test compares it.

**Tried**

- `host`: on a real Debian host with systemd,
- `fixture`: against fake tools that record their arguments, or a recorded server, because the lab
  has nothing of the kind,
- `service`: by the service itself.

**Ways** are tried in this order; `*` is the agent's own code. **Undone** says how a failed heal is
taken back; `armed` means that the agent does it by itself unless the heal is confirmed. If a host
lacks the tools of an action, the heal ends `failed`, reason `no_capable_handler`, and names them.

A parameter in brackets may be left out. One with an arrow comes from the event's target. Of two
with a stroke between them, one is required.

`run_playbook` is `automation` under another name and with a higher risk: `playbook_id` is the id of
an automation, and a person approves each run. opsapp has no playbooks of its own and does not start
Ansible; an automation of type `script` may call `ansible-playbook`.
"""


def mentioned(folder, names):
    """The actions that these test modules name as a text of their own."""
    text = "".join((ROOT / "tests" / folder / name).read_text() for name in names)
    return set(re.findall(r'"([a-z_]+)"', text)) & set(ACTIONS)


def states():
    real, fixture = mentioned("fleet", FLEET), mentioned("unit", FIXTURES)
    tried_on = {}
    for action in ACTIONS.values():
        if action.where == "server":
            tried_on[action.name] = "service"
        else:
            tried_on[action.name] = (
                "host" if action.name in real else "fixture" if action.name in fixture else "untried"
            )
    return tried_on


def parameters(action):
    words = []
    for name, field in action.params.items():
        word = name if field.required or name in action.either else f"[{name}]"
        words.append(f"→ {word}" if name == action.target_param else word)
    one_of = [name for name in words if name in action.either]
    return ", ".join([name for name in words if name not in one_of] + [" \\| ".join(one_of)] * bool(one_of))


def ways(action):
    tools = []
    for handler in action.handlers:
        own = any(step[0].startswith("@") for step in handler.steps)
        tools.append("*" if own and not handler.tools else ", ".join(handler.tools) + ("*" if own else ""))
    return "; ".join(dict.fromkeys(tools)).replace("*", "\\*")


def undone(action):
    if not action.reversible:
        return ""
    return f"{action.rollback}, armed" if action.armed_s else str(action.rollback)


def page():
    tried, lines = states(), [HEAD]
    for risk in RISKS:
        rows = [action for action in ACTIONS.values() if action.risk == risk]
        lines += [
            f"## {risk.capitalize()} risk: {len(rows)}\n",
            "| Action | Parameters | Ways | Recorded before | Undone | Tried |",
            "|---|---|---|---|---|---|",
        ]
        lines += [
            f"| `{row.name}` | {parameters(row)} | {ways(row)} | {row.snapshot or ''} | {undone(row)} |"
            f" {tried[row.name]} |"
            for row in rows
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
