"""What lies on the mount that a heal is about. Must not: change anything."""

from __future__ import annotations

import os
import re
from typing import Optional

from .native import Context, Ran, failed, step
from .services import ask

NOTHING = "nothing_to_do"
JOURNALS = ("/var/log/journal", "/run/log/journal")
LOGROTATE = "/etc/logrotate.conf"
_CONSIDERED = re.compile(r"^considering log (/.+)$", re.MULTILINE)


def nothing(mount: Optional[str], why: str, output: bytes = b"") -> Ran:
    """The end of a step that cannot help; the next one of the chain may."""
    return failed(f"{NOTHING}: on {mount}, {why}", output)


def lies_on(path: str, mount: Optional[str]) -> bool:
    """Whether the path lies on the mount; any mount will do where none is named."""
    try:
        return mount is None or os.stat(path).st_dev == os.stat(mount).st_dev
    except OSError:
        return False


def no_mount(mount: Optional[str]) -> str:
    return f"{mount} is no mount point" if mount is not None and not os.path.ismount(mount) else ""


def has_journal(mount: Optional[str]) -> bool:
    return mount is None or any(lies_on(path, mount) for path in JOURNALS)


def has_rotated_logs(mount: Optional[str]) -> bool:
    """Whether logrotate, as it is configured, minds a file there."""
    if mount is None:
        return True
    _, output = ask(["logrotate", "--debug", LOGROTATE])
    return any(lies_on(path, mount) for path in _CONSIDERED.findall(output))


@step
def no_journal_there(context: Context) -> Ran:
    mount = context.params.mount
    return failed(no_mount(mount)) if no_mount(mount) else nothing(mount, "no journal lies there")


@step
def no_logs_there(context: Context) -> Ran:
    mount = context.params.mount
    return failed(no_mount(mount)) if no_mount(mount) else nothing(mount, "logrotate rotates no file there")
