"""Breakages of a real host, one after the other: the first line of the message names the cause, with what shows it."""

import contextlib
import re
from types import SimpleNamespace

import pytest

from tests.fleet.care import Ward
from tests.fleet.conftest import QUICK
from tests.fleet.lab.machine import run as outside
from tests.support.process import Serve
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)  # so that what is waited for in vain is told with the case's story
NIGHTLY = pytest.mark.nightly("the core list has one cause of a unit, of a disk and of the service manager")
DATA, UNITS = "/srv/data", "/etc/systemd/system"
PID_FILE = "/var/lib/leftover.pid"
SOON = {"default-disk": 0, "default-clock": 2}  # for how many seconds their conditions must hold
NGINX_CONF = "events {{}} pid /run/{name}.pid; error_log stderr; http {{ access_log off; {http} }}"
AHEAD = "import runpy, time; right = time.time; time.time = lambda: right() + 300; "
AHEAD += "runpy.run_path('/opt/opsapp/agent.pyz', run_name='__main__')"
# The lab's systemd has no memory controller, so such a unit enters a group of its own by itself.
EATER = """d=/sys/fs/cgroup/memory/system.slice/{name}.service
if [ -d /sys/fs/cgroup/memory ]; then mkdir -p $d; {limit}; echo $$ > $d/cgroup.procs; fi
exec python3 -c "x = bytearray(1500 << 20)"
"""


class Breakage:
    """What breaks the host, the words that are told, and what mends it."""

    def __init__(self, name, target, said, *fault, mend=(), files=None, steps=None):
        self.name, self.target, self.said, self.mend = name, target, said, mend
        self.fault, self.files, self.steps = fault, files or {}, steps


def unit(name, said, start, more="", before=(), mend=(), files=None):
    """A unit that is enabled and does not come up."""
    text = f"[Service]\n{more}\nExecStart={start}\n[Install]\nWantedBy=multi-user.target\n"
    return Breakage(name, f"/{name}", said, *before, "systemctl daemon-reload", f"systemctl enable --now {name}",
                    mend=(f"systemctl disable --now {name}", f"systemctl reset-failed {name}", *mend),
                    files={f"{UNITS}/{name}.service": text, **(files or {})})  # fmt: skip


def script(name, said, text, **more):
    return unit(name, said, f"/bin/sh /root/{name}.sh", files={f"/root/{name}.sh": text}, **more)


def web(name, said, http, **more):
    """An nginx of its own."""
    conf = f"/etc/{name}.conf"
    return unit(name, said, f"/usr/sbin/nginx -c {conf} -g 'daemon off;'",
                files={conf: NGINX_CONF.format(name=name, http=http)}, **more)  # fmt: skip


BREAKAGES = (
    script("quits", "quits ended with exit code 125", "echo the ledger cannot be read; exit 125"),
    Breakage("masked", "/nginx", "nginx is masked: nothing can start it until somebody unmasks it",
             "systemctl mask --now nginx", mend=("systemctl unmask nginx", "systemctl start nginx")),
    Breakage("full", f"/{DATA}", rf"{DATA} is \d+ % full: the most is in {DATA}/log \(\S+ MB\)",
             f"mkdir {DATA}/log", f"head -c 30000000 /dev/zero > {DATA}/log/big.log", mend=(f"rm -r {DATA}/log",)),
    web("unnamed", r"the name db\.invalid cannot be resolved on the host",
        "server { listen 9301; location / { proxy_pass http://db.invalid; } }"),
    script("leftover",
           f"the pid file of leftover is stale: {PID_FILE} names pid 4000000, which is not its process",
           f"[ -e {PID_FILE} ] && echo {PID_FILE} exists, it runs already && exit 1; exec sleep 9999",
           before=(f"echo 4000000 > {PID_FILE}",)),
    unit("toolless", "the program of toolless is gone: /opt/tool/serve does not exist", "/opt/tool/serve"),
    script("eater", "eater was killed for memory: it reached its own limit of 41.9 MB", more="MemoryMax=40M",
           text=EATER.format(name="eater", limit="echo 40M > $d/memory.limit_in_bytes")),
    script("hog", "hog was killed for memory: the host had none left", more="OOMScoreAdjust=1000",
           text=EATER.format(name="hog", limit=":")),
    Breakage("spoiled", "/nginx", r"the configuration of nginx does not pass its own test \(nginx -t\)",
             "echo 'lsten 80;' >> /etc/nginx/nginx.conf", "systemctl restart nginx",
             mend=("sed -i /^lsten/d /etc/nginx/nginx.conf", "systemctl start nginx")),
    Breakage("read-only", f"/{DATA}", f"{DATA} is mounted read-only, and nothing can write there", steps="disk_error"),
    # No clock of the lab can be set: the agent's own is moved.
    Breakage("clock", "",
             r"the host's clock is (299|300|301) s ahead of that of the service, and it is not synchronised",
             "systemctl daemon-reload", "systemctl restart opsapp-agent",
             files={f"{UNITS}/opsapp-agent.service.d/ahead.conf": (
                 "[Service]\nExecStart=\n"
                 f'ExecStart=/usr/bin/python3 -I -S -c "{AHEAD}" --key-file /opt/opsapp/key --state /var/lib/opsapp'
                 " --config /opt/opsapp/agent.json\n")}),
)  # fmt: skip
CORE = ("quits", "masked", "full")


@contextlib.contextmanager
def disk(host):
    """A disk of 16 MB with few inodes; the device."""
    image = host.dir / "data.img"
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    outside("mkfs.ext4", "-q", "-F", "-m", "0", "-N", "64", image)
    device = outside("losetup", "--find", "--show", image).stdout.strip()
    node = f"mknod -m 600 {device} b 7 {device.removeprefix('/dev/loop')} 2>/dev/null"
    try:
        host.exec("sh", "-c", f"{node}; mkdir -p {DATA}; mount -o errors=remount-ro {device} {DATA}")
        yield device
        host.exec("umount", DATA)
    finally:
        outside("losetup", "--detach", device)


@pytest.fixture(scope="module")
def shop(lab, tmp_path_factory):
    """One host for all of them, and who is told."""
    place = tmp_path_factory.mktemp("causes")
    with contextlib.ExitStack() as stack:
        receiver = stack.enter_context(Receiver())
        serve = stack.enter_context(Serve(place / "server", config=QUICK, host=lab.address))
        serve.admin.post("/api/notifications/channels", {"name": "on-call", "url": receiver.url()})
        host = lab.host()
        stack.callback(lab.remove, host)
        device = stack.enter_context(disk(host))
        ward = Ward(host, serve)
        for rule_id, seconds in SOON.items():
            ward.api.put(f"/api/healing/rules/{rule_id}", {"for": seconds})
        reported = f"disk.{DATA}.read_only"
        until(lambda: ward.metrics().get(reported) == 0 and ward.metrics()["services"].get("nginx") == "active", 60,
              what="the disk and nginx in a report")  # fmt: skip
        yield SimpleNamespace(ward=ward, host=host, receiver=receiver, device=device, place=place)


def disk_error(shop):
    """The kernel finds an error on the disk."""
    name = shop.device.removeprefix("/dev/")
    with open(f"/sys/fs/ext4/{name}/trigger_fs_error", "w", encoding="ascii") as file:
        file.write("as if a block were broken")


STEPS = {"disk_error": disk_error}


def first_line(shop, target, known):
    """Of the message about this target that is new."""
    return [one["message"].splitlines()[0] for one in list(shop.receiver.messages)[known:]
            if f"{target}: " in one["title"] and not one["title"].endswith(": over")]  # fmt: skip


@pytest.mark.parametrize(
    "breakage", [pytest.param(row, id=row.name, marks=() if row.name in CORE else NIGHTLY) for row in BREAKAGES]
)
def test_the_first_line_says_why(shop, breakage):
    target = f"{shop.host.name}{breakage.target}"
    known = len(shop.receiver.messages)
    for path, text in breakage.files.items():
        shop.host.write(path, text)
    for command in breakage.fault:
        shop.host.exec("sh", "-c", command, check=False)
    if breakage.steps:
        STEPS[breakage.steps](shop)
    try:
        [line] = until(lambda: first_line(shop, target, known), 60, what=f"a message about {target}")
    except AssertionError as missed:
        about = [(one["title"], one["message"]) for one in shop.receiver.messages[known:]]
        raise AssertionError(f"{missed}: {about} {shop.ward.metrics()}\n{shop.ward.log()}") from None
    assert re.fullmatch(f"Cause: {breakage.said}\\.", line), line
    for command in breakage.mend:
        shop.host.exec("sh", "-c", command)
