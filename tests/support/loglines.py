"""What is logged, as JSON lines and text lines say it."""

import json
import logging
from contextlib import contextmanager

from opsapp.web.logs import JsonLine, TextLine


class Lines(logging.Handler):
    def __init__(self):
        super().__init__()
        self.kept = []

    def emit(self, record):
        self.kept.append({**json.loads(JsonLine().format(record)), "text": TextLine().format(record)})

    def of(self, message):
        (line,) = [line for line in self.kept if line["message"] == message]
        return line


@contextmanager
def written():
    handler = Lines()
    logging.getLogger().addHandler(handler)
    try:
        yield handler
    finally:
        logging.getLogger().removeHandler(handler)
