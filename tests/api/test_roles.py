"""Every endpoint × {anonymous, viewer, operator, admin, agent}: generated from the live views and the table of rows."""

import re

import pytest

from opsapp.tree.acl import ROLES
from opsapp.web import openapi
from opsapp.web.sse import CONTENT_TYPE
from tests.api.roles_table import ALSO_AGENTS, ROWS, SAMPLES, agent_headers
from tests.support.app import Service, _sign_in

ACTORS = {"viewer": "vera", "operator": "otto", "admin": "ada"}
HOW = (
    "Add a row to ROWS in tests/api/roles_table.py (and a sample of its object to SAMPLES), or take the stale one out."
)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        service = Service(tmp_path_factory.mktemp("roles"))
    yield service
    service.close()


@pytest.fixture(scope="module")
def views(service):
    """What the running application has, without the pages."""
    return {
        f"{each.method} {each.path}": each
        for each in openapi.endpoints(service.app.registry)
        if each.path.startswith(("/api", "/metrics"))
    }


def test_every_view_has_a_row_and_every_row_a_view(views):
    lacking = [f'    "{row}": {views[row].role.upper()},' for row in sorted(set(views) - set(ROWS))]
    assert not lacking, f"views without a row. {HOW}\n" + "\n".join(lacking)
    stale = sorted(set(ROWS) - set(views))
    assert not stale, f"rows without a view. {HOW}\n" + "\n".join(stale)


def test_every_view_asks_for_what_the_table_says(views):
    assert {row: views[row].role for row in ROWS if row in views} == {row: ROWS[row] for row in ROWS if row in views}


def ask(service, row, who):
    """The status that this actor gets. The body is one that no view accepts, so nothing is ever changed."""
    method, path = row.split(" ")
    place = service.transact(SAMPLES[path]) if path in SAMPLES else re.sub(r"{[a-z_]+}", "0" * 16, path)
    headers = {"Content-Type": "application/json"}
    if who in ACTORS:
        headers["Authorization"] = "Bearer " + service.transact(_sign_in, ACTORS[who], service.clock.now())
    elif who == "agent":
        headers |= agent_headers(service)
    body = b'{"no view knows this key": 1}' if method != "GET" else b""
    return service.anonymous.request(place, method=method, headers=headers, body=body, expect_errors=True).status_int


def expected(row, who):
    """The statuses that are right, None where any but a refusal is."""
    needs, path = ROWS[row], row.split(" ")[1]
    unknown = {404} if "{" in path and path not in SAMPLES else set()
    if needs == "public":
        return None
    if who == "anonymous":
        return {401}
    if who == "agent":
        return None if needs == "agent" or row in ALSO_AGENTS else {401, 403} | unknown
    if needs == "agent" or ROLES.index(who) < ROLES.index(needs):
        return {403} | unknown
    return None


@pytest.mark.parametrize("who", ["anonymous", "viewer", "operator", "admin", "agent"])
@pytest.mark.parametrize("row", sorted(ROWS))
def test_row(service, views, row, who):
    view = views.get(row)
    if view is None:
        pytest.fail(f"there is no view {row}. {HOW}")
    right = expected(row, who)
    if right is None and view.options.get("returns") == CONTENT_TYPE:
        pytest.skip("a stream has no end; tests of its own open it")
    status = ask(service, row, who)
    if right is not None:
        assert status in right
    else:
        assert status not in (401, 403, 405, 500)


@pytest.mark.parametrize("who", sorted(ACTORS))
def test_what_is_not_there_is_404_for_every_role(service, who):
    """Whatever the role, and before the body is looked at."""
    rows = [row for row in sorted(ROWS) if "{" in row and ROWS[row] not in ("public", "agent")]
    headers = {"Authorization": "Bearer " + service.transact(_sign_in, ACTORS[who], service.clock.now())}
    headers["Content-Type"] = "application/json"
    statuses = {}
    for method, path in map(str.split, rows):
        place, body = re.sub(r"{[a-z_]+}", "0" * 16, path), b"no JSON" if method in ("POST", "PUT") else b""
        answer = service.anonymous.request(place, method=method, headers=headers, body=body, expect_errors=True)
        statuses[f"{method} {path}"] = answer.status_int
    assert {row: status for row, status in statuses.items() if status != 404} == {}


def test_below_a_public_path_nobody_learns_what_exists(service):
    for path in ("/api/login/other", "/api/login/totp/other", "/api/status/public/other", "/api/docs/other"):
        assert service.anonymous.get(path, expect_errors=True).status_int == 401
