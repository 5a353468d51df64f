"""Files both ways, live logs and live metrics, over a real session with the real agent program."""

import contextlib
import hashlib
import os
import random
import secrets

import pytest

from tests.support.agent_process import AgentProcess
from tests.support.agent_server import AgentServer
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """One for all the tests that look at a place of their own on its host. (Which paths it lets anybody have is asked
    of `ruled`.)"""
    home = tmp_path_factory.mktemp("home")
    server = AgentServer(interval=1.0)
    with AgentProcess(
        home, server, allow_paths=[str(home)], viewer_paths=[str(home)], max_file_bytes=50_000_000
    ) as made:
        made.online()
        yield made
    server.stop()


@pytest.fixture
def server(agent):
    agent.online()  # the test before may have ended the session
    return agent.server


@pytest.fixture
def place(agent):
    made = agent.directory / f"host-{secrets.token_hex(4)}"
    for name in ("log", "data"):
        (made / name).mkdir(parents=True)
    return made


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    """One agent for all the tests that only ask about paths: (server, place)."""
    home = tmp_path_factory.mktemp("ruled")
    place = home / "host"
    for name in ("log", "data", "secret"):
        (place / name).mkdir(parents=True)
    for name in ("secret/x", "data/my.key", "data/plain", "log/app.log"):
        (place / name).write_text(name)
    (place / "data/link").symlink_to(place / "secret/x")
    (place / "data/out").symlink_to(place / "secret/y")
    (place / "data/dirlink").symlink_to("/etc")
    (place / "log/escape").symlink_to(place / "data/plain")
    os.mkfifo(place / "data/pipe")
    server = AgentServer(interval=1.0)
    with AgentProcess(
        home,
        server,
        allow_paths=[str(place)],
        deny_paths=[str(place / "secret"), "*.key"],
        viewer_paths=[str(place / "log")],
    ) as agent:
        agent.online()
        yield server, place
    server.stop()


def ended(server, stream, timeout=30):
    return until(lambda: server.session().ended(stream), timeout, what="the stream's end")


def said(server, stream, kind):
    return next((one for one in server.streams[stream]["messages"] if one["type"] == kind), None)


def test_a_file_comes_whole_and_hashed(server, place):
    data = random.Random(1).randbytes(3_000_001)
    (place / "data/big").write_bytes(data)
    stream = server.session().open("file_get", path=str(place / "data/big"))
    assert ended(server, stream)["code"] == "end"
    assert said(server, stream, "opened")["size"] == len(data)
    assert server.streams[stream]["data"].hexdigest() == hashlib.sha256(data).hexdigest()
    assert said(server, stream, "finish")["sha256"] == hashlib.sha256(data).hexdigest()


def test_a_part_of_a_file_can_be_had(server, place):
    (place / "data/small").write_bytes(b"0123456789")
    stream = server.session().open("file_get", path=str(place / "data/small"), offset=3, length=4)
    assert ended(server, stream)["code"] == "end"
    assert server.streams[stream]["keep"] == b"3456"
    beyond = server.session().open("file_get", path=str(place / "data/small"), offset=11)
    assert ended(server, beyond)["code"] == "bad_request"


def test_the_hash_of_the_whole_file_comes_first_when_it_is_asked_for(server, place):
    (place / "data/hashed").write_bytes(b"0123456789")
    for part in ({}, {"offset": 3, "length": 4}, {"offset": 0, "length": 2}):
        stream = server.session().open("file_get", path=str(place / "data/hashed"), digest=True, **part)
        assert ended(server, stream)["code"] == "end"
        assert said(server, stream, "opened")["sha256"] == hashlib.sha256(b"0123456789").hexdigest()
    (place / "data/hashed").write_bytes(b"9876543210")
    stream = server.session().open("file_get", path=str(place / "data/hashed"), digest=True)
    assert ended(server, stream)["code"] == "end"
    assert said(server, stream, "opened")["sha256"] == hashlib.sha256(b"9876543210").hexdigest()


def test_a_file_that_changes_under_way_is_not_vouched_for(server, place):
    path = place / "data/changing"
    path.write_bytes(bytes(3_000_000))
    session = server.session()
    stream = session.open("file_get", path=str(path), digest=True)
    server.streams[stream]["stall"] = True
    until(lambda: server.streams[stream]["size"] >= 900_000)
    with open(path, "r+b") as file:
        file.seek(2_900_000)
        file.write(b"changed")
    server.streams[stream]["stall"] = False
    session.say("credit", stream=stream, bytes=3_000_000)
    assert ended(server, stream)["code"] == "io_error"
    assert said(server, stream, "finish") is None


def test_a_reader_that_does_not_read_stops_the_sender(server, place):
    (place / "data/big").write_bytes(bytes(20_000_000))
    session = server.session()
    stream = session.open("file_get", path=str(place / "data/big"))
    server.streams[stream]["stall"] = True
    until(lambda: server.streams[stream]["size"] >= 900_000)
    name = server.command("shell", command="echo beside")
    assert until(lambda: server.result(name))["output"] == "beside\n"
    assert server.streams[stream]["size"] <= 1_200_000
    session.say("close", stream=stream)
    assert ended(server, stream)["code"] == "left"


def test_a_file_is_stored_by_rename_with_the_mode_it_had(server, place):
    target = place / "data/target"
    target.write_text("before")
    target.chmod(0o640)
    data = random.Random(2).randbytes(2_500_000)
    session = server.session()
    stream = session.open("file_put", path=str(target), size=len(data))
    until(lambda: said(server, stream, "opened"))
    assert target.read_text() == "before"
    sha256 = session.upload(stream, [data])
    end = ended(server, stream)
    assert (end["code"], end["path"], end["size"], end["sha256"]) == ("end", str(target), len(data), sha256)
    assert target.read_bytes() == data
    assert target.stat().st_mode & 0o777 == 0o640
    assert os.listdir(place / "data") == ["target"]


def test_an_empty_file_and_a_new_name(server, place):
    session = server.session()
    stream = session.open("file_put", path=str(place / "data/new"))
    session.upload(stream, [])
    assert ended(server, stream)["code"] == "end"
    assert (place / "data/new").read_bytes() == b""
    assert (place / "data/new").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("spoil", ["hash", "order", "leave", "flood", "size"])
def test_a_spoiled_upload_leaves_nothing(server, place, spoil):
    from opsapp.wire.frames import FileChunk, pack_chunk

    session = server.session()
    target = place / "data/target"
    target.write_text("before")
    size = 60_000_000 if spoil == "size" else None
    stream = session.open("file_put", path=str(target), size=size)
    if spoil == "hash":
        session.raw(pack_chunk(FileChunk(stream, 0, b"abc")))
        session.say("finish", stream=stream, size=3, sha256="0" * 64)
    elif spoil == "order":
        session.raw(pack_chunk(FileChunk(stream, 7, b"abc")))
    elif spoil == "leave":
        session.raw(pack_chunk(FileChunk(stream, 0, b"abc")))
        session.say("close", stream=stream)
    elif spoil == "flood":
        for number in range(400):
            session.raw(pack_chunk(FileChunk(stream, number * 65536, bytes(65536))))
    codes = {
        "hash": ["bad_hash"],
        "order": ["bad_request"],
        "leave": ["left"],
        "flood": ["bad_request", "no_answer"],
        "size": ["too_large"],
    }
    if spoil == "flood":  # written as fast as it comes, or refused: never more than the window in memory
        until(lambda: session.ended(stream) or session.credit[stream] > 20_000_000)
        session.say("close", stream=stream)
        ended(server, stream)
    else:
        assert ended(server, stream)["code"] in codes[spoil]
    until(lambda: os.listdir(place / "data") == ["target"], what="no half file")
    assert target.read_text() == "before"


@pytest.mark.parametrize(
    ("path", "role", "code"),
    [
        ("secret/x", "operator", "not_allowed"),
        ("data/../secret/x", "operator", "not_allowed"),
        ("data/link", "operator", "not_allowed"),
        ("data/dirlink/passwd", "operator", "not_allowed"),
        ("../../../../../../etc/passwd", "operator", "not_allowed"),
        ("data/my.key", "operator", "not_allowed"),
        ("data/plain", "viewer", "not_allowed"),
        ("log/escape", "viewer", "not_allowed"),
        ("log/../data/plain", "viewer", "not_allowed"),
        ("data", "operator", "not_allowed"),
        ("data/pipe", "operator", "not_allowed"),
        ("data/missing", "operator", "not_found"),
        ("missing/missing", "operator", "not_found"),
        ("data/plain", "operator", "end"),
        ("log/app.log", "viewer", "end"),
    ],
)
def test_the_agent_has_the_last_word_on_paths(ruled, path, role, code):
    server, place = ruled
    stream = server.session().open("file_get", path=f"{place}/{path}", role=role)
    assert ended(server, stream)["code"] == code
    if code != "end":
        assert server.streams[stream]["size"] == 0


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("secret/new", "not_allowed"),
        ("data/dirlink/new", "not_allowed"),
        ("data/out", "not_allowed"),
        ("data/", "bad_request"),
        ("data", "bad_request"),
        ("nowhere/new", "not_found"),
        ("../../new", "not_allowed"),
        ("data/pipe", "not_allowed"),
    ],
)
def test_writing_is_ruled_too(ruled, path, code):
    server, place = ruled
    stream = server.session().open("file_put", path=f"{place}/{path}")
    assert ended(server, stream)["code"] == code
    assert not (place / "secret/y").exists()


@pytest.mark.parametrize(
    "params", [{}, {"path": "etc/passwd"}, {"path": "/a\0b"}, {"path": 7}, {"path": "/x", "offset": -1}]
)
def test_bad_parameters_are_a_plain_end(ruled, params):
    server, _ = ruled
    stream = server.session().open("file_get", **params)
    assert ended(server, stream)["code"] == "bad_request"


def test_a_log_file_is_followed_through_rotation_until_the_reader_leaves(server, place):
    log = place / "log/app.log"
    log.write_text("old 1\nold 2\nold 3\n")
    stream = server.session().open("logs", source="file", path=str(log), role="viewer", lines=2)
    lines = server.streams[stream]["lines"]
    until(lambda: [one["line"] for one in lines] == ["old 2", "old 3"])
    with open(log, "a") as file:
        file.write("new 1\n")
    until(lambda: lines[-1]["line"] == "new 1")
    assert lines[-1]["time"] > 0
    log.rename(place / "log/app.log.1")
    log.write_text("after rotation\n")
    until(lambda: lines[-1]["line"] == "after rotation")
    log.write_text("cut\n")
    until(lambda: lines[-1]["line"] == "cut", what="the line after a truncation")
    server.session().say("close", stream=stream)
    assert ended(server, stream)["code"] == "left"


def test_metrics_come_faster_while_somebody_watches(tmp_path):
    server = AgentServer(interval=3600)
    with contextlib.ExitStack() as running:
        running.callback(server.stop)
        running.enter_context(AgentProcess(tmp_path, server)).online()
        until(lambda: server.reports)
        before = len([one for one in server.reports if one["reason"] == "stream"])
        assert before == 0
        stream = server.session().open("metrics")
        until(lambda: len([one for one in server.reports if one["reason"] in ("stream", "interval")]) >= 2, 15)
        server.session().say("close", stream=stream)
        assert ended(server, stream)["code"] == "left"


def test_too_many_streams_are_refused(server):
    session = server.session()
    streams = [session.open("metrics") for _ in range(17)]
    assert ended(server, streams[-1])["code"] == "busy"
    assert session.ended(streams[0]) is None
    for stream in streams[:-1]:
        session.say("close", stream=stream)
        assert ended(server, stream)["code"] == "left"


def test_an_unknown_kind_ends_the_session_not_the_agent(server):
    sessions = len(server.hellos)
    server.session().raw('{"type":"open","stream":1,"kind":"telepathy","params":{}}')
    until(lambda: len(server.hellos) > sessions)


def test_streams_end_with_the_session(server, place):
    (place / "data/big").write_bytes(bytes(20_000_000))
    session, sessions = server.session(), len(server.hellos)
    stream = session.open("file_put", path=str(place / "data/half"))
    until(lambda: said(server, stream, "opened"))
    server.drop()
    until(lambda: len(server.hellos) > sessions)
    until(lambda: os.listdir(place / "data") == ["big"], what="no half file")
