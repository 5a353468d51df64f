"""Log lines: one line an event, nothing secret, in both formats."""

import json
import logging

import pytest

from opsapp.web import logs
from opsapp.web.config import LogSettings
from opsapp.web.redact import RedactFilter


@pytest.fixture
def lines():
    """What the root logger's only handler wrote, while the test runs."""
    written = []

    class Collect(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:] = [Collect()]
    yield written
    root.handlers[:] = before
    root.setLevel(level)


def fail(secret):
    try:
        raise ValueError(f"bad password={secret}")
    except ValueError:
        logging.getLogger("opsapp.test").exception("it failed token=%s\nfor user=%s", "ab" * 32, "vera")


@pytest.mark.parametrize("look", ["text", "json"])
def test_one_line_without_secrets(lines, look):
    logs.apply(LogSettings(format=look, level="info"))
    logs.apply(LogSettings(format=look, level="info"))
    fail("hunter2hunter2")
    logging.getLogger("opsapp.test").debug("not shown")
    (line,) = lines
    assert "\n" not in line
    assert "hunter2" not in line
    assert "abab" not in line
    assert "user=vera" in line
    assert "ValueError" in line
    handler = logging.getLogger().handlers[0]
    assert sum(isinstance(known, RedactFilter) for known in handler.filters) == 1


def test_json_lines_are_json(lines):
    logs.apply(LogSettings(format="json", level="debug"))
    logging.getLogger("opsapp.test").warning('a "quoted" %s', "value")
    line = json.loads(lines[0])
    assert (line["level"], line["logger"], line["message"]) == ("warning", "opsapp.test", 'a "quoted" value')


def test_text_lines_have_keys(lines):
    logs.apply(LogSettings(format="text", level="info"))
    logging.getLogger("opsapp.test").info("serving port=%d", 80)
    assert lines[0].endswith("level=info logger=opsapp.test serving port=80")


def test_what_a_message_names_is_a_field_of_a_json_line(lines):
    logs.apply(LogSettings(format="json", level="info"))
    log = logging.getLogger("opsapp.test")
    log.info("run ended run=%s code=%d took=%.1f: %s", "ab12", 3, 1.25, "level=debug other=7")
    log.info("refused token=%s path=%s time=%s", "ab" * 32, "/x", "never")
    log.info("100 %% run=%s", "ab12")
    log.info("plain")
    ended, refused, percent, plain = (json.loads(line) for line in lines)
    assert (ended["run"], ended["code"], ended["took"], ended["level"]) == ("ab12", 3, 1.25, "info")
    assert "other" not in ended
    assert (refused["path"], refused["token"]) == ("/x", "[redacted]")
    assert refused["time"] != "never"
    assert (percent["message"], plain["message"]) == ("100 % run=ab12", "plain")
    assert set(plain) == {"time", "level", "logger", "message"}
