"""Which line of an output says why."""

import pytest

from opsapp.lib.lastwords import LONGEST, telling_line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("one\ntwo\n\n", "two"),
        ("E: Unable to lock the directory\nSee the manual for more.\n", "E: Unable to lock the directory"),
        ("error: first\nerror: the last one counts\n", "error: the last one counts"),
        ("\x1b[31mFailed to start nginx.service\x1b[0m\r\n", "Failed to start nginx.service"),
        ("10 %\r50 %\r100 %\n", "100 %"),
        ("terrors of the deep\nend", "end"),
        ("a\x00b\x07 not found", "ab not found"),
    ],
)
def test_the_line_that_says_why(output, line):
    assert telling_line(output) == line


def test_a_long_line_is_cut():
    assert len(telling_line("failed " + "x" * 1000)) == LONGEST
