"""An agent's side of a session, message by message, so that it can also say what no agent would."""

from __future__ import annotations

from opsapp.wire import messages
from tests.support import wire_messages
from tests.support.frames import CLOSE, TEXT, FrameClient, closing, frame


class Wire(FrameClient):
    """A session of the agent with this id and key."""

    def __init__(self, serve, agent_id, key, **more):
        self.agent_id = agent_id
        super().__init__(serve.port, f"/api/agents/{agent_id}/session", [f"X-Agent-Key: {key}"], **more)

    def say(self, kind, **fields):
        return self.text(wire_messages.encode(kind, **fields))

    def text(self, text):
        return self.send(frame(TEXT, text))

    def hello(self, **changes):
        fields = {"protocol": 1, "agent_id": self.agent_id, "machine_id": "m1", "hostname": "h1", "version": "0"}
        return self.say("hello", **{**fields, **changes})

    def hear(self, kind=None):
        """The next message (of this kind); a close as {"type": "close", "code": …}."""
        while True:
            frame = self.frame()
            if frame.opcode == CLOSE:
                return {"type": "close", "code": frame.code}
            if frame.opcode == TEXT:
                message = wire_messages.decode(frame.payload.decode(), messages.SERVER)
                if kind in (None, message["type"]):
                    return message

    def end(self):
        self.send(frame(CLOSE, closing(1000)))
        self.sock.close()
