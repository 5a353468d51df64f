"""Media servers: media_library_scan and media_queue_cleanup against a recorded server, and refusals."""

import http.server
import json
import threading
from dataclasses import replace

import pytest

from opsapp.agent.local import Instance
from tests.support.fake_tools import Bench

QUEUE = {
    "records": [
        {"id": 1, "status": "downloading", "trackedDownloadStatus": "ok"},
        {"id": 2, "status": "completed", "trackedDownloadStatus": "warning"},
        {"id": 3, "status": "failed"},
        {"id": "x", "status": "failed"},
    ]
}


@pytest.fixture
def media():
    """(address, requests); `answers`: (method, path) → (status, body)."""
    seen, answers = [], {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            keys = {name: value for name, value in self.headers.items() if name.startswith("X-")}
            seen.append((self.command, self.path, json.loads(body) if body else None, keys))
            status, said = answers.get((self.command, self.path), (200, ""))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(said.encode())

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen, answers
    server.shutdown()
    server.server_close()


@pytest.fixture
def bench(tmp_path, monkeypatch, media):
    def make(kind):
        (tmp_path / "key").write_text("sesame\n")
        return Bench(tmp_path, monkeypatch, {}, instances={"tv": Instance("tv", kind, media[0], str(tmp_path / "key"))})

    return make


@pytest.mark.parametrize(
    ("kind", "method", "path", "body", "header"),
    [
        ("jellyfin", "POST", "/Library/Refresh", None, "X-Emby-Token"),
        ("plex", "GET", "/library/sections/all/refresh", None, "X-Plex-Token"),
        ("sonarr", "POST", "/api/v3/command", {"name": "RescanSeries"}, "X-Api-Key"),
        ("radarr", "POST", "/api/v3/command", {"name": "RescanMovie"}, "X-Api-Key"),
        ("lidarr", "POST", "/api/v1/command", {"name": "RescanFolders"}, "X-Api-Key"),
    ],
)
def test_a_library_is_read_anew(bench, media, kind, method, path, body, header):
    done = bench(kind).execute("media_library_scan", instance_id="tv")
    assert done.ran.status == "done", done
    assert media[1] == [(method, path, body, {header: "sesame"})]


def test_only_what_is_stuck_leaves_the_queue(bench, media):
    _, seen, answers = media
    answers["GET", "/api/v3/queue?pageSize=1000"] = (200, json.dumps(QUEUE))
    done = bench("sonarr").execute("media_queue_cleanup", instance_id="tv")
    assert done.ran.output == b"2 stuck downloads were removed from the queue of tv\n"
    assert [request[:2] for request in seen[1:]] == [
        ("DELETE", f"/api/v3/queue/{number}?removeFromClient=true&blocklist=true") for number in (2, 3)
    ]


@pytest.mark.parametrize(
    ("status", "said", "reason"),
    [
        (401, "", "tv answered 401"),
        (302, "", "tv answered 302"),
        (200, "<html>", "the queue cannot be read"),
        (200, "[]", "the queue cannot be read"),
    ],
)
def test_a_refusal_is_told_without_the_key(bench, media, status, said, reason):
    media[2]["GET", "/api/v3/queue?pageSize=1000"] = (status, said)
    done = bench("radarr").execute("media_queue_cleanup", instance_id="tv")
    assert (done.ran.status, done.ran.reason) == ("failed", reason)


def test_what_is_not_there_is_no_capable_handler(bench):
    here = bench("jellyfin")
    nobody = here.execute("media_library_scan", instance_id="films")
    assert nobody.ran.reason.startswith("no_capable_handler: this agent")
    assert here.execute("media_queue_cleanup", instance_id="tv").ran.reason == (
        "no_capable_handler: jellyfin has no queue of downloads"
    )


def test_a_server_that_is_away_and_a_key_that_is_gone(bench, media, tmp_path):
    here = bench("plex")
    (tmp_path / "key").unlink()
    assert here.execute("media_library_scan", instance_id="tv").ran.reason == "the key of tv cannot be read"
    (tmp_path / "key").write_text("sesame")
    here.config.instances["tv"] = replace(here.config.instances["tv"], url="http://127.0.0.1:1")
    assert here.execute("media_library_scan", instance_id="tv").ran.reason.startswith("tv cannot be reached")
