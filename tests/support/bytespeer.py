"""A peer of the server's readers that is no socket: it sends bytes that a test has."""


class BytesPeer:
    """Sends these bytes in pieces, as long as `pieces` says each time, and then closes."""

    def __init__(self, raw, pieces):
        self.buffer = bytearray()
        self._raw, self._pieces = raw, pieces
        self.given = 0

    def fill(self, _timeout):
        piece = self._raw[self.given : self.given + self._pieces()]
        self.given += len(piece)
        self.buffer += piece
        return bool(piece)

    def take(self, size):
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data
