"""A small real server for agent tests: HTTP reports and WebSocket sessions over real sockets, in threads.

It keeps everything that arrives, gives commands out until they are acknowledged, and can misbehave on purpose.
"""

import collections
import contextlib
import hashlib
import itertools
import json
import socket
import ssl
import threading
import time

import h11
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, RejectConnection, Request, TextMessage
from wsproto.utilities import LocalProtocolError

from opsapp.wire import messages
from opsapp.wire.commands import check_params, check_report
from opsapp.wire.frames import CHUNK, WINDOW, FileChunk, pack_chunk, unpack_chunk
from opsapp.wire.handles import readable
from tests.support import wire_messages
from tests.support.waiting import until

KEY = "k" * 64


class AgentServer:
    def __init__(self, interval=15.0, host="127.0.0.1", certificate=None):
        self.certificate = certificate  # (certificate file, key file): https
        self.interval = interval
        self.key = KEY
        self.websocket = True  # False: 501 for upgrades
        self.polls = True  # False: 503 for reports
        self.thank = True  # False: results are neither acknowledged nor accepted
        self.reports, self.results, self.hellos, self.outputs, self.messages = [], [], [], [], []
        self.acked = set()  # command ids the agent has acknowledged
        self.waiting = collections.OrderedDict()
        self.cancels = []
        self.requests = []  # (method, path, status)
        self.streams = {}
        self.sessions = {}  # a set, in the order in which they came
        self.agent_file = b""
        self.outcomes, self.policies = [], None  # policies: {bundle, signature}
        self.lock = threading.RLock()
        self._numbers = itertools.count(1)
        self._host, self._port = host, 0
        self._listener = None
        self._connections = set()
        self.start()

    # ---- life
    @property
    def url(self):
        return f"http{'s' if self.certificate else ''}://{self._host}:{self._port}"

    def start(self):
        self._listener = socket.create_server((self._host, self._port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self):
        """Down: the port refuses, every connection is cut."""
        listener, self._listener = self._listener, None
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        self.drop()

    def drop(self):
        with self.lock:
            for sock in list(self._connections):
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    # ---- what tests say
    def command(self, kind, **params):
        name = f"c{next(self._numbers)}"
        command = {"command_id": name, "type": kind, "params": params}
        check_params(kind, params)
        self.offer(command)
        return name

    def offer(self, command):
        with self.lock:
            self.waiting[command["command_id"]] = command
            for session in self.sessions:
                session.say("command", id=command["command_id"], command=command)

    def cancel(self, name):
        with self.lock:
            self.cancels.append(name)
            for session in self.sessions:
                session.say("cancel", id=name)

    def result(self, name):
        return next((result for result in self.results if result["command_id"] == name), None)

    def session(self):
        with self.lock:
            return next(reversed(self.sessions), None)

    # ---- sockets
    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self._connections.add(sock)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            sock.settimeout(60)
            sock = self._wrapped(sock)
            head = b""
            while b"\r\n\r\n" not in head:
                data = sock.recv(65536)
                if not data:
                    return
                head += data
            if b"upgrade: websocket" in head.lower():
                ServerSession(self, sock, head).run()
            else:
                self._http(sock, head)
        except (OSError, h11.ProtocolError):
            pass
        finally:
            with self.lock:
                self._connections.discard(sock)
            sock.close()

    def _wrapped(self, sock):
        if not self.certificate:
            return sock
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.certificate)
        wrapped = context.wrap_socket(sock, server_side=True)
        with self.lock:
            self._connections.discard(sock)
            self._connections.add(wrapped)
        return wrapped

    def _http(self, sock, head):
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(head)
        request, body = None, b""
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(sock.recv(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            else:
                break
        status, answer = self._answer(request, body)
        self.requests.append((request.method.decode(), request.target.decode(), status))
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        sock.sendall(connection.send(h11.Response(status_code=status, headers=[("Content-Length", str(len(data)))])))
        sock.sendall(connection.send(h11.Data(data=data)) + connection.send(h11.EndOfMessage()))

    def _answer(self, request, body):
        headers = dict(request.headers)
        if headers.get(b"x-agent-key") != self.key.encode():
            return 401, {"error": "bad key", "code": "unauthorized"}
        if request.target.endswith(b"/agent.pyz"):
            return 200, self.agent_file
        if not self.polls:
            return 503, {"error": "away", "code": "unavailable"}
        if len(body) > 1024 * 1024:
            return 413, {"error": "too large", "code": "too_large"}
        report = check_report(json.loads(body))
        with self.lock:
            if report["results"] and not self.thank:
                return 503, {"error": "away", "code": "unavailable"}
            self.reports.append(report)
            self.results += report["results"]
            for held in (report["held"] or []) + report["results"]:
                self.acked.add(held["command_id"])
                self.waiting.pop(held["command_id"], None)
            self.outcomes += report["outcomes"]
            answer = {
                "status": "ok",
                "interval": self.interval,
                "commands": list(self.waiting.values()),
                "cancel": self.cancels,
                "policy_version": 0,
            }
            self.cancels = []
            if self.policies and (report["policy_version"] or 0) < self.policies["bundle"]["version"]:
                answer["policies"] = self.policies
            return 200, answer


class ServerSession:
    """One WebSocket session, served in its thread; `say` from any thread."""

    def __init__(self, server, sock, head):
        self.server, self.sock = server, sock
        self.ws = WSConnection(ConnectionType.SERVER)
        self.ws.receive_data(head)
        self.write = threading.RLock()
        self.numbers = itertools.count(1)
        self.credit = collections.defaultdict(lambda: WINDOW)
        self.files = {}

    def say(self, kind, /, **fields):
        self._send(TextMessage(data=wire_messages.encode(kind, **fields)))

    def raw(self, data):
        self._send(TextMessage(data=data) if isinstance(data, str) else BytesMessage(data=data))

    def open(self, kind, **params):
        stream = next(self.numbers)
        self.server.streams[stream] = {"messages": [], "data": hashlib.sha256(), "size": 0, "lines": [], "keep": b""}
        self.say("open", stream=stream, kind=kind, params=params)
        return stream

    def _send(self, event):
        with self.write:
            # Gone meanwhile, or it has said that it goes: as lost as what a dead socket still takes.
            with contextlib.suppress(OSError, LocalProtocolError):
                self.sock.sendall(self.ws.send(event))

    def run(self):
        server = self.server
        for event in self.ws.events():
            assert isinstance(event, Request)
            key = dict(event.extra_headers).get(b"x-agent-key")
            if not server.websocket or key != server.key.encode():
                status = 401 if key != server.key.encode() else 501
                server.requests.append(("GET", event.target, status))
                self._send(RejectConnection(status_code=status, has_body=False))
                return
            self._send(AcceptConnection())
        try:
            while True:
                for event in self.ws.events():
                    if not self._on_event(event):
                        return
                data = self._receive()
                with self.write:
                    self.ws.receive_data(data or None)
                if not data:
                    return
        finally:
            with server.lock:
                server.sessions.pop(self, None)

    def _receive(self):
        if not isinstance(self.sock, ssl.SSLSocket):
            return self.sock.recv(262144)
        while not self.sock.pending() and not readable([self.sock.fileno()], 0.05):
            pass
        with self.write:  # a TLS socket is not for two threads at once
            return self.sock.recv(262144)

    def _on_event(self, event):
        if isinstance(event, TextMessage):
            self.text = getattr(self, "text", "") + event.data
            if event.message_finished:
                text, self.text = self.text, ""
                self._on_message(wire_messages.decode(text, messages.AGENT))
        elif isinstance(event, BytesMessage):
            self.data = getattr(self, "data", b"") + bytes(event.data)
            if event.message_finished:
                data, self.data = self.data, b""
                self._on_chunk(unpack_chunk(data))
        elif isinstance(event, Ping):
            self._send(event.response())
        elif isinstance(event, CloseConnection):
            self.server.messages.append({"type": "closed-socket", "code": int(event.code)})
            return False
        return True

    def _on_message(self, message):
        server, kind = self.server, message["type"]
        with server.lock:
            server.messages.append(message)
            if kind == "hello":
                server.hellos.append(message)
                self.say("welcome", protocol=1, interval=server.interval, policy_version=0, time=time.time())
                server.sessions[self] = None
                if server.policies and message["policy_version"] < server.policies["bundle"]["version"]:
                    self.say("policies", id="p1", **server.policies)
                for command in server.waiting.values():
                    self.say("command", id=command["command_id"], command=command)
            elif kind == "ping":
                self.say("pong", id=message["id"])
            elif kind == "report":
                server.reports.append(message["report"])
                self.say("ack", id=message["id"], of="report")
            elif kind == "result":
                server.results.append(message["result"])
                server.waiting.pop(message["id"], None)
                if server.thank:
                    self.say("ack", id=message["id"], of="result")
            elif kind == "outcome":
                server.outcomes.append(message["outcome"])
                self.say("ack", id=message["id"], of="outcome")
            elif kind == "ack" and message["of"] == "command":
                server.acked.add(message["id"])
                server.waiting.pop(message["id"], None)
            elif kind == "output":
                server.outputs.append(message)
            elif kind in ("opened", "closed", "lines", "finish", "credit"):
                self._on_stream(message)

    def _on_stream(self, message):
        stream = self.server.streams[message["stream"]]
        stream["messages"].append(message)
        if message["type"] == "lines":
            stream["lines"] += message["lines"]
            self.say("credit", stream=message["stream"], bytes=sum(len(line["line"]) + 1 for line in message["lines"]))
        elif message["type"] == "credit":
            self.credit[message["stream"]] += message["bytes"]

    def _on_chunk(self, chunk):
        stream = self.server.streams[chunk.stream]
        stream["data"].update(chunk.data)
        stream["size"] += len(chunk.data)
        if len(stream["keep"]) < 2**20:
            stream["keep"] += chunk.data
        if not stream.get("stall"):
            self.say("credit", stream=chunk.stream, bytes=len(chunk.data))

    def upload(self, stream, pieces):
        """Send a file's pieces as the window allows, then finish; the test waits for `closed` itself."""
        digest, offset = hashlib.sha256(), 0
        for piece in pieces:
            for start in range(0, len(piece), CHUNK):
                data = piece[start : start + CHUNK]
                if not self._has_room(stream, len(data)):
                    return None
                self.credit[stream] -= len(data)
                self.raw(pack_chunk(FileChunk(stream, offset, data)))
                digest.update(data)
                offset += len(data)
        self.say("finish", stream=stream, size=offset, sha256=digest.hexdigest())
        return digest.hexdigest()

    def _has_room(self, stream, size):
        """Once the agent's window is wide enough; False where the agent has ended the stream instead."""
        until(lambda: self.credit[stream] >= size or self.ended(stream), 30, every=0.001, what="room in the window")
        return self.credit[stream] >= size

    def ended(self, stream):
        return next((told for told in self.server.streams[stream]["messages"] if told["type"] == "closed"), None)
