"""Which test runs which command of README and guide. A command without a row, and a row without a command, is an error.

A row: what the command looks like, on which page, and the test; or NOT_RUN with the reason.
"""

import re
from typing import NamedTuple

from .documented_commands import documented

HERE = "tests/system/test_documented_commands.py::"
FIRST_STEPS = f"{HERE}test_the_first_steps_of_the_readme"
CURL = f"{HERE}test_the_requests_of_the_guide"
OPSAPP = f"{HERE}test_the_commands_of_opsapp"
SERVED, AT_REST = f"{OPSAPP} served", f"{OPSAPP} at rest"
PACKAGES = "tests/fleet/test_packages.py::test_from_a_bare_host_to_a_page_and_nothing_left_after_a_purge"
FIRST_HOUR = "tests/fleet/test_packages.py::test_the_first_hour_from_a_bare_host_to_a_heal"
UNITS = "tests/fleet/test_units.py::test_the_service_runs_as_its_own_user_and_is_whole"
DUMP = "tests/system/test_postgresql.py::test_a_dump_restores_the_store"
REHEARSAL = "tests/system/test_upgrade_rehearsal.py::"
UP = f"{REHEARSAL}test_up_under_load_and_back_to_the_release_and_nothing_is_lost"
NOT_RUN = "not run: "


class Row(NamedTuple):
    page: str
    looks: str
    test: str


ROWS = [
    Row(*row)
    for row in (
        ("README|demo", r"make run ARGS=--demo|opsapp demo", "tests/system/test_demo.py"),
        ("README", r"make run", f"{HERE}test_make_run_serves"),
        ("README", r"make test", f"{NOT_RUN}it runs the tests; .ci/run begins with it"),
        ("README", r"[A-Z]+=|field|api|mkdir|curl|python3|echo|sh box-1|kill", FIRST_STEPS),
        ("agent", r"opsapp-agent\.pyz", "tests/system/test_agent_wire.py"),
        ("as-code", r"opsapp apply team\.yaml",
         "tests/api/test_ascode_guide.py::test_the_commands_of_the_guide_do_what_it_says"),
        ("as-code", r"opsapp .*--url", SERVED),
        ("as-code", r"opsapp .*--(ini|data)", AT_REST),
        ("automations|maintenance|notifications|oncall|assistants|deployments", r"curl ", CURL),
        ("cluster", r"opsapp init --cluster", AT_REST),
        ("cluster", r"createuser|createdb", "tests/support/postgres.py"),
        ("cluster", r"pg_dump|pg_restore", DUMP),
        ("cluster", r"for n in",
         "tests/system/test_rolling_restart.py::test_all_nodes_are_restarted_and_no_request_fails"),
        ("first-hour", r"", FIRST_HOUR),
        ("monitoring", r"printf|apt-get|rm|COMPARE_", f"{NOT_RUN}a measurement of half an hour"),
        ("packages", r"apt install|cat|opsapp-agent-setup", PACKAGES),
        ("packages", r"docker compose",
         f"{NOT_RUN}no image can be fetched; tests/system/test_packages.py reads the two files"),
        ("retention", r"opsapp .*--url", SERVED),
        ("retention", r"opsapp .*--ini", AT_REST),
        ("running", r"python3 -m venv|useradd|chown|systemctl", UNITS),
        ("running", r"opsapp (backup|pack --url)", SERVED),
        ("running", r"opsapp (restore|pack --ini)", AT_REST),
        ("status-page", r"opsapp status-export", SERVED),
        ("switching", r"opsapp import .*--url", SERVED),
        ("switching", r"opsapp import .*--ini", AT_REST),
        ("audit", r"systemctl restart rsyslog",
         "tests/system/test_audit_forwarding.py::"
         "test_rsyslog_as_the_guide_sets_it_up_has_each_entry_once_also_after_it_was_away"),
        ("testing", r"sudo", "tests/fleet/lab/__main__.py"),
        ("upgrade", r"runuser .* opsapp (backup|doctor)", SERVED),
        ("upgrade", r"runuser .* opsapp restore", AT_REST),
        ("upgrade", r"SHA256=|VERSION=|curl|ls", UP),
        ("upgrade", r"install|systemctl stop|apt install", PACKAGES),
        ("upgrade", r"/opt/opsapp/bin/pip|systemctl start", UNITS),
        ("users", r"opsapp user", AT_REST),
    )
]  # fmt: skip


def row_of(command):
    """The first row that the command looks like; None where it has none."""
    for row in ROWS:
        if re.search(rf"(^|/)({row.page})\.md$", command.page) and re.match(row.looks, command.text):
            return row
    return None


def rows_of(test):
    """The commands of that test, in the order of the pages."""
    return [command.text for command in documented() if (row := row_of(command)) and row.test == test]
