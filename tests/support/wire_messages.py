"""Messages by name and fields, as the bytes have them: for tests that speak as another agent or service would."""

from opsapp.wire import messages


def encode(kind, /, **fields):
    return messages.framed(kind, fields)


def decode(frame, sender):
    kind, fields = messages.unframed(frame, sender)
    return {"type": kind, **fields}
