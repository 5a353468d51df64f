"""Schemathesis over the whole API document, as nobody, a viewer and an admin: no 500, and no shape but what is told."""

import os
import re

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from opsapp.auth.config import LoginSettings
from tests.support.app import _sign_in

pytestmark = pytest.mark.system
NIGHTLY = pytest.mark.nightly("the core list has an admin, who reaches the most")

# Streams have no end here, a deployment would reach out to machines, and signing out would end the run.
LEFT_OUT = re.compile(r"/stream|/deploy$|/logout$|/session$|/files$")
EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "6"))


def breaks_nothing(ctx, response, case):
    """No answer of the kind 5xx, but for the refusal to try a monitor: no engine runs here that would do it."""
    tries = case.path.endswith("/endpoints/check")
    if not tries or response.status_code != 503 or response.json()["code"] != "unavailable":
        return not_a_server_error(ctx, response, case)
    return None


CHECKS = [breaks_nothing, content_type_conformance, response_schema_conformance, status_code_conformance]
SETTINGS = hypothesis.settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
    database=None,
)


def try_operation(operation, headers):
    """What is wrong with it, if anything; all of its requests are of one session."""

    @hypothesis.given(case=operation.as_strategy())
    @SETTINGS
    def run(case):
        case.call_and_validate(headers=headers, checks=CHECKS)

    try:
        run()
    except FailureGroup as group:
        return f"{operation.label}:\n" + "\n".join(str(each) for each in group.exceptions)
    return None


@pytest.mark.timeout(600)
@pytest.mark.parametrize("who", [*(pytest.param(who, marks=NIGHTLY) for who in ("nobody", "vera")), "ada"])
def test_no_request_breaks_it(service, who):
    service.configure(LoginSettings, attempts_per_ip=10_000, attempts_per_user=10_000)
    schema = schemathesis.openapi.from_wsgi("/api/openapi.json", service.app)

    def headers():
        if who == "nobody":
            return {}
        return {"Authorization": "Bearer " + service.transact(_sign_in, who, service.clock.now())}

    operations = [each.ok() for each in schema.get_all_operations()]
    tried = [each for each in operations if not LEFT_OUT.search(each.path)]
    assert len(tried) > 120
    wrong = [problem for problem in (try_operation(each, headers()) for each in tried) if problem]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("who", ["nobody", "vera", "ada"])
def test_what_is_left_out_refuses_nonsense_too(service, who):
    """Streams, sinks, sessions: whatever is sent to something that is not there, nobody gets a 500 or waits."""
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    if who != "nobody":
        headers["Authorization"] = "Bearer " + service.transact(_sign_in, who, service.clock.now())
    left_out = [
        (path, method.upper())
        for path, methods in service.anonymous.get("/api/openapi.json").json["paths"].items()
        for method in methods
        if LEFT_OUT.search(path) and "{" in path
    ]
    assert len(left_out) >= 6
    for path, method in left_out:
        place = re.sub(r"{[a-z_]+}", "0" * 16, path) + "?source=nonsense&path=%00&token=x"
        body = b"--b\r\nnonsense" if method != "GET" else b""
        answer = service.anonymous.request(place, method=method, headers=headers, body=body, expect_errors=True)
        assert answer.status_int in ({401} if who == "nobody" else {401, 403, 404}), (method, place, answer)
        assert answer.json["code"]
