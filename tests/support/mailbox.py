"""A mail server that keeps what it is given, and can be told to refuse a while. As much of SMTP as a client needs."""

from __future__ import annotations

import email
import email.policy
import socketserver
import threading


class Mailbox:
    """`mails` are the messages that arrived, parsed. While `refusal` is set, recipients (or only `refused`, where that
    is set) are answered with it. A recipient with `breaks` in it loses its sender the connection."""

    def __init__(self):
        self.mails: list[email.message.EmailMessage] = []
        self.refusal: str | None = None
        self.refused = ""
        self.breaks: str | None = None
        self.asked = 0
        mailbox = self

        class Handler(socketserver.StreamRequestHandler):
            def say(self, line):
                self.wfile.write(line.encode() + b"\r\n")

            def handle(self):
                self.say("220 mailbox")
                for line in self.rfile:
                    verb = line.split()[0].upper() if line.split() else b""
                    if verb == b"QUIT":
                        return self.say("221 bye")
                    if verb == b"RCPT":
                        mailbox.asked += 1
                        if mailbox.breaks and mailbox.breaks.encode() in line:
                            return None
                    if verb == b"DATA":
                        self.say("354 go on")
                        mailbox.keep(b"".join(iter(self.rfile.readline, b".\r\n")))
                    refuses = verb == b"RCPT" and mailbox.refused.encode() in line
                    self.say((mailbox.refusal if refuses else None) or "250 very well")

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def keep(self, raw):
        self.mails.append(email.message_from_bytes(raw, policy=email.policy.default))

    @property
    def port(self):
        return self._server.server_address[1]

    def url(self, to="oncall@example.org"):
        return f"mailto://127.0.0.1:{self.port}?from=opsapp@example.org&to={to}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
