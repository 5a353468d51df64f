"""Automations on a real server: each type for real, output while it is written, ends that are certain."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from opsapp.automations.logic import templates
from tests.support.automations import cancel, ended, events, make, run, script
from tests.support.process import Serve
from tests.support.waiting import until, written

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"automations": {"kill_grace_s": 0.5, "retry_delay_s": 0.1, "max_running": 4}}
    with Serve(tmp_path_factory.mktemp("automations"), config=config) as serve:
        yield serve


@pytest.fixture
def receiver():
    """A real HTTP server that keeps what it is sent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.server.seen.append((self.path, dict(self.headers), body))
            status = 500 if self.path == "/bad" else 200
            self.send_response(status)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"taken")

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_script_runs_and_says_how_it_ended(serve):
    automation = script(serve, "echo out; echo err >&2; exit 3")
    answer = serve.admin.post(f"/api/automations/{automation}/run")
    assert answer["status"] == "running"
    record = ended(serve, answer["run_id"])
    assert (record["status"], record["exit_code"], record["reason"]) == ("failed", 3, "exit code 3")
    assert record["output"] == "out\nerr\n"
    assert record["automation_id"] == automation
    assert record["started"] <= record["finished"]
    shown = serve.admin.get(f"/api/automations/{automation}")
    assert (shown["last_status"], shown["last_run"]) == ("failed", record["started"])


def test_output_is_streamed_while_it_is_written_and_resumes(serve, tmp_path):
    gate = tmp_path / "gate"
    run_id = run(serve, script(serve, f"echo first; while [ ! -e {gate} ]; do sleep 0.05; done; echo second"))
    seen = []
    for event in events(serve, run_id):
        seen.append(event)
        if event["event"] == "log" and event["data"]["line"] == "first":
            gate.touch()
    assert [event["data"]["line"] for event in seen if event["event"] == "log"] == ["first", "second"]
    assert [event["data"]["status"] for event in seen if event["event"] == "status"] == ["running", "done"]
    assert seen[-1]["event"] == "end"
    assert all(event["id"] for event in seen)
    first = next(event["id"] for event in seen if event["event"] == "log")
    again = list(events(serve, run_id, after=first))
    assert [event["data"]["line"] for event in again if event["event"] == "log"] == ["second"]
    assert again == seen[seen.index(next(event for event in seen if event["id"] == first)) + 1 :], "times and all"
    assert list(events(serve, run_id, after=seen[-1]["id"]))[-1]["event"] == "end"


def test_a_time_out_ends_the_whole_group_and_what_fled_from_it(serve, tmp_path):
    text = f"setsid sleep 300 & echo $! > {tmp_path}/fled; sleep 300 & echo $! > {tmp_path}/child; trap '' TERM; wait"
    record = ended(serve, run(serve, script(serve, text, timeout=4)), timeout=30)
    assert (record["status"], record["exit_code"]) == ("timeout", None)
    for name in ("child", "fled"):
        pid = int((tmp_path / name).read_text())
        until(lambda pid=pid: not alive(pid), what=f"the end of {name}")


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_cancel_ends_what_runs(serve, tmp_path):
    run_id = run(serve, script(serve, f"echo $$ > {tmp_path}/pid; echo on; sleep 300"))
    written(tmp_path / "pid", "the script being there")
    assert cancel(serve, run_id)["run_id"] == run_id
    record = ended(serve, run_id)
    assert (record["status"], record["reason"]) == ("cancelled", "cancelled by admin")
    assert not alive(int((tmp_path / "pid").read_text()))
    assert serve.admin.request("POST", f"/api/automations/runs/{run_id}/cancel").status == 409


def test_a_script_sees_a_clean_environment_and_its_own_directory(serve):
    os.environ["OPSAPP_TEST_LEAK"] = "1"
    try:
        record = ended(serve, run(serve, script(serve, "env | cut -d= -f1 | sort; pwd; echo $HOME; ulimit -c; umask")))
    finally:
        del os.environ["OPSAPP_TEST_LEAK"]
    lines = record["output"].splitlines()
    assert {"PATH", "HOME", "TMPDIR", "LANG", "OPSAPP_RUN_ID", "OPSAPP_AUTOMATION_ID"} <= set(lines)
    assert not {"OPSAPP_ADMIN_PASSWORD", "PYTHONPATH"} & set(lines)
    where = Path(lines[-4])
    assert str(where) == lines[-3]
    assert lines[-2:] == ["0", "0077"]
    assert not where.exists()


def test_inputs_become_one_word_whatever_is_in_them(serve):
    inputs = [{"name": "who"}, {"name": "count", "type": "integer"}]
    automation = script(serve, "printf '<%s>' {{input:who}} {{input:count}}", inputs=inputs)
    evil = 'a b\'; echo $(id) "`id`" \\'
    assert ended(serve, run(serve, automation, {"who": evil, "count": 7}))["output"] == f"<{evil}><7>"
    assert ended(serve, run(serve, automation, {"inputs": {"who": "x", "count": 1}}))["output"] == "<x><1>"
    refused = serve.admin.request("POST", f"/api/automations/{automation}/run", {"count": "7", "extra": 1})
    assert refused.status == 422
    assert set(refused.json["fields"]) == {"count", "extra"}


def test_nobody_who_calls_a_webhook_adds_a_word_to_the_script(serve, tmp_path):
    """The caller has no credential but the address, and the author has put the placeholder into quotes."""
    text = 'echo "hello {{input:who}}"; printf "<%s>" "$(printf %s {{input:who}})"; tr "\\0" " " < /proc/$$/cmdline'
    automation = script(serve, text, inputs=[{"name": "who"}])
    token = serve.admin.post(f"/api/automations/{automation}/webhook-token")["webhook_token"]
    evil = f"\"; touch {tmp_path}/in; $(touch {tmp_path}/in) `touch {tmp_path}/in` ' #"
    answer = serve.client().post(f"/api/automations/webhook/{token}", {"who": evil})
    record = ended(serve, answer["run_id"])
    assert record["status"] == "done"
    assert record["output"].startswith(f"hello {evil}\n<{evil}>")
    assert str(tmp_path) not in record["output"].removeprefix(f"hello {evil}\n<{evil}>")  # of its command line
    assert list(tmp_path.iterdir()) == []
    for quoted in ("echo 'hello {{input:who}}'", "cat <<END\n{{input:who}}\nEND", "# {{input:who}}"):
        body = {"name": "x", "type": "script", "params": {"script": quoted}, "inputs": [{"name": "who"}]}
        refused = serve.admin.request("POST", "/api/automations", body)
        assert (refused.status, list(refused.json["fields"])) == (422, ["params.script"])


def test_secrets_reach_the_script_and_nothing_else(serve):
    value = 's3cr3t word\'s "end"'
    serve.admin.post("/api/secrets", {"name": "deploy", "value": value})
    automation = script(serve, "printf '%s' {{secret:deploy}} | wc -c; echo it is {{secret:deploy}} indeed")
    record = ended(serve, run(serve, automation))
    assert record["output"].split("\n")[0].strip() == str(len(value))
    assert "it is [secret] indeed" in record["output"]
    exported = serve.admin.request("GET", "/api/automations/export").body
    assert value.encode() not in exported
    serve.admin.call("DELETE", "/api/secrets/deploy")
    missing = ended(serve, run(serve, automation))
    assert (missing["status"], missing["reason"]) == ("failed", "there is no secret deploy")


def test_a_webhook_is_called_and_its_answer_kept(serve, receiver):
    serve.admin.post("/api/secrets", {"name": "hook-key", "value": "abc123xyz"})
    url = f"http://127.0.0.1:{receiver.server_port}"
    automation = make(
        serve,
        "webhook",
        {
            "url": url + "/hook?who={{input:who}}",
            "headers": {"X-Key": "{{secret:hook-key}}"},
            "body": {"text": "hello {{input:who}}", "n": 1},
        },
        inputs=[{"name": "who", "default": "a&b"}],
    )
    record = ended(serve, run(serve, automation))
    assert (record["status"], record["output"]) == ("done", "HTTP 200\ntaken")
    path, headers, body = receiver.seen[-1]
    assert path == "/hook?who=a%26b"
    assert headers["X-Key"] == "abc123xyz"
    assert headers["Content-Type"] == "application/json"
    assert body == b'{"text": "hello a&b", "n": 1}'
    failed = ended(serve, run(serve, make(serve, "webhook", {"url": url + "/bad", "body": "x"}, retries=2)))
    assert (failed["status"], failed["reason"], failed["attempt"]) == ("failed", "HTTP 500", 3)
    assert [path for path, _, _ in receiver.seen].count("/bad") == 3
    refused = ended(serve, run(serve, make(serve, "webhook", {"url": "http://169.254.169.254/"})))
    assert "may not be reached" in refused["reason"]
    serve.admin.post("/api/secrets", {"name": "hook-host", "value": "127.0.0.3"})
    secret = ended(serve, run(serve, make(serve, "webhook", {"url": "http://{{secret:hook-host}}:1/"})))
    assert (secret["status"], "127.0.0.3" in secret["reason"]) == ("failed", False)


def test_more_than_is_kept_is_cut_and_said(serve):
    record = ended(serve, run(serve, script(serve, "yes 0123456789abcdef | head -c 9000000; echo end")), timeout=60)
    assert record["status"] == "done"
    assert record["truncated"]
    assert len(record["output"].encode()) <= 4 << 20
    assert record["output"].endswith("[output cut here: more was written than is kept]\n")


def test_a_composite_and_a_workflow(serve, tmp_path):
    one = script(serve, f"echo one >> {tmp_path}/log")
    two = script(serve, f"echo two >> {tmp_path}/log; exit 1")
    mend = script(serve, f"echo mend >> {tmp_path}/log")
    whole = make(serve, "composite", {"automations": [one, two, mend], "stop_on_failure": True})
    record = ended(serve, run(serve, whole))
    assert (record["status"], record["reason"]) == ("failed", "step 2 ended failed")
    assert [part["status"] for part in record["parts"]] == ["done", "failed"]
    assert (tmp_path / "log").read_text() == "one\ntwo\n"
    steps = [
        {"id": "try", "automation_id": two, "on_success": "end", "on_failure": "mend"},
        {"id": "mend", "automation_id": mend, "on_success": "end"},
        {"id": "end", "automation_id": one},
    ]
    flow = make(serve, "workflow", {"start": "try", "steps": steps})
    record = ended(serve, run(serve, flow))
    assert record["status"] == "done", record
    assert (tmp_path / "log").read_text() == "one\ntwo\ntwo\nmend\none\n"
    assert serve.admin.request("DELETE", f"/api/automations/{one}").status == 409


def test_a_message_reaches_the_channel_that_it_names(serve, receiver):
    params = {"title": "Hello", "message": "all is well", "channels": ["hook"]}
    url = f"json://127.0.0.1:{receiver.server_port}/told"
    hook = {"name": "hook", "url": url, "severities": ["critical"]}
    channel = serve.admin.post("/api/notifications/channels", hook)
    automation = make(serve, "notification", params)
    serve.admin.request("DELETE", f"/api/notifications/channels/{channel['id']}")
    record = ended(serve, run(serve, automation))
    assert (record["status"], record["reason"]) == ("failed", "there is no channel hook")
    serve.admin.post("/api/notifications/channels", hook)
    serve.admin.post("/api/notifications/channels", {"name": "other", "url": url.replace("told", "other")})
    record = ended(serve, run(serve, automation))
    assert (record["status"], record["output"]) == ("done", "Hello\nall is well\n")
    until(lambda: [path for path, _, body in receiver.seen if b"all is well" in body], 30, what="the message")
    assert {path for path, _, body in receiver.seen if b"all is well" in body} == {"/told"}


@pytest.mark.parametrize("template", sorted(templates.BY_ID))
def test_every_template_runs_here(serve, receiver, template, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("x")
    params = {"call-address": {"params": {"url": f"http://127.0.0.1:{receiver.server_port}/", "method": "POST"}}}
    made = serve.admin.post(f"/api/automations/templates/{template}/apply", params.get(template, {}))["id"]
    given = {
        "backup-directory": {"directory": str(tmp_path / "data"), "into": str(tmp_path / "kept")},
        "delete-old-files": {"directory": str(tmp_path / "data"), "days": 1, "really": True},
        "largest-directories": {"directory": str(tmp_path)},
    }
    record = ended(serve, run(serve, made, given.get(template)), timeout=60)
    if template == "restart-service":  # whether there is a cron here is the machine's affair: it says so, and how
        assert record["status"] in ("done", "failed")
        assert record["exit_code"] is not None
        return
    assert record["status"] == "done", record
    assert record["output"] or template == "delete-old-files"
    if template == "backup-directory":
        assert [path.suffix for path in (tmp_path / "kept").iterdir()] == [".gz"]


def test_sigterm_ends_a_script_and_its_run_says_why(tmp_path):
    with Serve(tmp_path) as serve:
        text = f"trap 'echo caught; exit 0' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.05; done"
        run_id = run(serve, script(serve, text))
        written(tmp_path / "pid", "the script being there")
        assert serve.stop() == 0
        assert not alive(int((tmp_path / "pid").read_text()))
        serve.start()
        record = serve.admin.get(f"/api/automations/runs/{run_id}")
        assert (record["status"], record["reason"]) == ("cancelled", "shutdown")
        assert record["output"].endswith("caught\n")
