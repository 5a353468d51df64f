"""A small application with every kind of answer, served by our server in a process of its own.

`python -m tests.support.serving '{"port": 0, "limits": {...}}'` prints `ready PORT` once it accepts connections.
"""

import json
import logging
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import gevent
from gevent.event import Event
from pyramid.config import Configurator
from pyramid.response import Response

from opsapp.lib import problems
from opsapp.runtime.config import Configuration
from opsapp.runtime.threads.hub import Hub, Lane, LeadLane
from opsapp.web import answers, asked, server, sse, uploads
from opsapp.web.config import WebSettings
from tests.support.process import FLUSH_S, MEASURED
from tests.support.waiting import patience, until

ROOT = Path(__file__).resolve().parents[2]
STATUS = {"not_found": 404, "too_large": 413, "invalid": 422, "malformed": 400, "foreign_origin": 403}


class TinyNode:
    """As much of a node as the server needs."""

    exclusive = True  # nobody else has its store

    def __init__(self, *sections):
        self.hub, self.lanes, self.config = Hub(), {}, Configuration().having(*sections)
        self.supervisor = type("Supervisor", (), {"on_give_up": None})()
        self.stopped = 0

    def start_hub(self):
        self.hub.enter()

    def lane(self, name, size=2):
        if name not in self.lanes:
            self.lanes[name] = Lane(self.hub, name, size)
        return self.lanes[name]

    def lead_lane(self, name, size=2):
        if name not in self.lanes:
            self.lanes[name] = LeadLane(self.hub, name, size)
        return self.lanes[name]

    def post(self, fn, *values):
        self.hub.post(fn, *values)

    def begin_stop(self):
        pass

    def stop(self):
        for lane in self.lanes.values():
            lane.close()
        self.hub.leave()
        print("node stopped", flush=True)


class Counts:
    opened = closed = sessions = ended = held = 0


class Gates:
    """Requests that are not answered before the test says so, by a line on the standard input."""

    opened = set()

    @classmethod
    def listen(cls):
        heard = b""
        while data := os.read(0, 1024):
            *names, heard = (heard + data).split(b"\n")
            cls.opened.update(name.decode() for name in names)

    @classmethod
    def hold(cls, name, sleep):
        Counts.held += 1
        while name not in cls.opened:
            sleep(0.02)


def finish(about, outcome):
    """An error table in small."""
    if isinstance(outcome, problems.Problem):
        body = {"error": outcome.message, "code": outcome.code, **getattr(outcome, "details", {})}
        return Response(json=body, status=STATUS.get(outcome.code, 400))
    return answers.finish_plainly(about, outcome)


class Ticks:
    """A stream that counts for ever, or up to `last`."""

    def __init__(self, every=0.01, last=None, size=10):
        self.every, self.last, self.size = every, last, size

    def open(self):
        Counts.opened += 1

    def __iter__(self):
        n = 0
        while self.last is None or n < self.last:
            n += 1
            yield b"%d " % n + b"x" * self.size
            gevent.sleep(self.every) if threading.current_thread() is threading.main_thread() else time.sleep(
                self.every
            )

    def close(self):
        Counts.closed += 1


class Silent(Ticks):
    """A stream that has nothing to say after its first word."""

    def __iter__(self):
        yield b": hello\n\n"
        Event().wait()


class Told(Ticks):
    """A stream that knows its length and its range, or refuses."""

    def __init__(self, text, problem=None):
        self.text, self.problem = text, problem

    def open(self):
        if self.problem:
            raise self.problem
        Counts.opened += 1
        return answers.Head(
            "206 Partial Content", {"Content-Length": str(len(self.text)), "Content-Range": "bytes 0-3/9"}
        )

    def __iter__(self):
        yield self.text


class Short(Told):
    def __iter__(self):
        yield self.text[:1]


class Breaks(Ticks):
    def __iter__(self):
        yield b"begin"
        raise RuntimeError("broke")


class Stored:
    """A receiver that counts."""

    def open(self, fields, filename):
        if fields["dest"] == "/forbidden":
            raise problems.NotFound("no such place")
        self.fields, self.filename, self.size, self.pieces = fields, filename, 0, 0

    def write(self, data):
        self.size += len(data)
        self.pieces += 1

    def finish(self):
        return 200, {}, {"dest": self.fields["dest"], "size": self.size, "name": self.filename, "pieces": self.pieces}

    def abort(self):
        Counts.ended += 1


def echo_session(socket):
    Counts.sessions += 1
    try:
        while (message := socket.receive()) is not None:
            if message == "close me":
                socket.close(4000, "as you wish")
            elif message == "break":
                raise RuntimeError("handler broke")
            else:
                socket.send(message)
    finally:
        Counts.ended += 1


def views(node):
    feeds = set()

    def plain(request):
        return {"path": request.path_info, "host": request.host_url, "thread": threading.current_thread().name,
                "x": request.headers.get("X-Test"), "id": asked.request_id(request.environ)}  # fmt: skip

    def body(request):
        return {
            "length": len(request.body),
            "te": request.environ.get("HTTP_TRANSFER_ENCODING"),
            "text": request.body[:20].decode("latin-1"),
        }

    def counts(request):
        rss = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
        return {**{name: getattr(Counts, name) for name in ("opened", "closed", "sessions", "ended", "held")},
                "rss": rss, "files": len(os.listdir("/proc/self/fd"))}  # fmt: skip

    def held(request):
        Gates.hold(request.params["gate"], time.sleep)
        return {"held": True}

    def deferred(request):
        gate = request.params.get("gate")

        def work():
            if gate:
                Gates.hold(gate, gevent.sleep if node.hub.is_here() else time.sleep)
            return 201, {"X-Made": "yes"}, {"on_hub": node.hub.is_here(), "lane": node.lane("work").run(lambda: 7)}

        return answers.Deferred(work)

    def failing(request):
        def work():
            raise problems.NotFound("nobody there")

        return answers.Deferred(work)

    def crash(request):
        raise SystemExit(3) if request.params.get("how") == "exit" else RuntimeError("boom")

    def split(request):
        return Response(headerlist=[("X-Evil", request.params["v"]), ("Content-Type", "text/plain")], body=b"ok")

    def feed(request):
        made = sse.Feed(node, opening=feeds.add, closing=feeds.discard, size=50, comment_every=0.2)
        return sse.event_stream(made)

    def publish(request):
        for n in range(int(request.params.get("n", 1))):
            for open_feed in list(feeds):
                open_feed.put({"n": n}, event="tick", id=n)
        if "end" in request.params:
            for open_feed in list(feeds):
                open_feed.end("done")
        return {"feeds": len(feeds)}

    def upload(request):
        return answers.Sink(
            lambda body: uploads.receive_form(body, Stored(), uploads.FileForm(needs=("dest",))), limit=8 << 20
        )

    def refused(request):
        request.response.status = 403
        return {"error": "no", "code": "forbidden"}

    def reading(request):
        return {"length": len(request.body)}

    def session(request):
        return answers.Upgrade(
            echo_session,
            origins=("http://friend.example",),
            subprotocols=("opsapp",),
            max_message=1 << 16,
            ping_every=float(request.params.get("ping", 20)),
            idle_after=float(request.params.get("idle", 60)),
        )

    def broken(request):
        return answers.Deferred(lambda: Response(app_iter=(1 // 0 for _ in "x")))

    def give_up(request):
        node.post(node.supervisor.on_give_up)
        return {}

    def big(request):
        return Response(body=b"b" * int(request.params["n"]), content_type="application/octet-stream")

    def stream(make):
        return lambda request: answers.Stream(make(request), "text/plain")

    return {
        "api/plain": plain, "api/body": body, "api/big-body": body, "api/counts": counts, "api/held": held,
        "api/deferred": deferred, "api/failing": failing, "api/crash": crash, "api/split": split, "api/feed": feed,
        "api/stormy": held, "api/beside": counts,
        "api/publish": publish, "api/sink": upload, "api/sink-refused": refused, "api/sink-read": reading,
        "api/session": session, "api/big": big, "api/give-up": give_up, "api/broken": broken,
        "api/ticks": stream(lambda request: Ticks(last=int(request.params.get("last", 1 << 40)),
                                                  size=int(request.params.get("size", 10)))),
        "api/silent": stream(lambda request: Silent()),
        "api/told": stream(lambda request: Told(b"abcd")),
        "api/short": stream(lambda request: Short(b"abcd")),
        "api/breaks": stream(lambda request: Breaks()),
        "api/refuses": stream(lambda request: Told(b"", problems.NotFound("no such file"))),
    }  # fmt: skip


def too_large(problem, request):
    request.response.status = 413
    return {"error": problem.message, "code": problem.code}


def tween_factory(handler, registry):
    def tween(request):
        request.environ[answers.FINISH] = finish
        return handler(request)

    return tween


def application(node):
    config = Configurator()
    config.include("opsapp.web.paths")
    config.registry["opsapp.node"] = node
    for path in ("/api/sink", "/api/sink-refused", "/api/sink-read"):
        config.add_sink("POST", path)
    config.add_body_limit("POST", "/api/big-body", 4 << 20)
    config.add_own_lane("GET", "/api/stormy", "storm")
    config.add_own_lane("GET", "/api/beside", "beside")
    config.add_tween("tests.support.serving.tween_factory")
    config.add_view(too_large, context=problems.TooLarge, renderer="json")
    for path, view in views(node).items():
        config.add_route(path, "/" + path)
        config.add_view(view, route_name=path, renderer="json")
    return config.make_wsgi_app()


class Serving:
    """The application above behind our server, in a process of its own."""

    def __init__(
        self, base_url=None, host="127.0.0.1", trusted_proxies=(), bad_reload=False, leave_within=None, **limits
    ):
        """`leave_within`: seconds after which a stop that hangs is ended, when not those of the product."""
        self.options = {
            "bad_reload": bad_reload,
            "base_url": base_url,
            "host": host,
            "leave_within": leave_within,
            "limits": limits,
            "trusted_proxies": trusted_proxies,
        }
        self.lines = []

    def __enter__(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "tests.support.serving", json.dumps(self.options)]
        self.child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        )
        self._reader = threading.Thread(
            target=lambda: self.lines.extend(iter(self.child.stdout.readline, "")), daemon=True
        )
        self._reader.start()
        until(lambda: self.port or self.child.poll() is not None, 20, what="the server being ready")
        assert self.port, self.output()
        return self

    @property
    def port(self):
        return next((int(line.split()[1]) for line in list(self.lines) if line.startswith("ready ")), None)

    def output(self):
        return "".join(self.lines)

    def let_go(self, gate):
        """What is held at this gate is answered, and so is whatever comes to it later."""
        self.child.stdin.write(f"{gate}\n")
        self.child.stdin.flush()

    def stop(self):
        """SIGTERM; the exit code."""
        self.child.terminate()
        return self.wait()

    def wait(self, timeout=12):
        """The exit code, once it has ended and all of its output is there."""
        code = self.child.wait(timeout * patience() + FLUSH_S * MEASURED)
        self._reader.join(timeout * patience())
        return code

    def __exit__(self, *_error):
        try:
            if MEASURED and self.child.poll() is None:
                self.stop()  # it writes down what it reached only when it is let go properly
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.child.kill()
            self.wait()
            self.child.stdin.close()
            self.child.stdout.close()


def plain_application(global_conf):
    """Nothing but WSGI."""

    def call(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"plain"]

    return call


def bad_reload():
    raise ValueError("line 3: no such key")


def main():
    options = json.loads(sys.argv[1])
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s", stream=sys.stdout)
    threading.Thread(target=Gates.listen, daemon=True).start()
    server.LEAVE_WITHIN_S = options["leave_within"] or server.LEAVE_WITHIN_S
    node = TinyNode(WebSettings(base_url=options["base_url"], trusted_proxies=tuple(options["trusted_proxies"])))
    code = server.serve(
        application(node),
        options["host"],
        options.get("port", 0),
        node=node,
        limits=server.Limits().with_settings(options["limits"]),
        on_ready=lambda listening: print(f"ready {listening.address[1]}", flush=True),
        on_hangup=bad_reload if options["bad_reload"] else lambda: print("hup", flush=True),
    )
    sys.exit(code)


if __name__ == "__main__":
    main()
