"""Breakages of a real host, one after the other: the first line of the message names the cause, with what shows it."""

import contextlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from opsapp.wire.spoken import spoken_target
from tests.fleet.care import Ward
from tests.fleet.conftest import QUICK
from tests.fleet.lab.machine import run as outside
from tests.support.certificates import Authority
from tests.support.monitors import MONITORS
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.timeout(600)  # so that what is waited for in vain is told with the case's story
NIGHTLY = pytest.mark.nightly("the core list has one cause of a unit, of a disk and of a certificate")
DATA, UNITS = "/srv/data", "/etc/systemd/system"
PID_FILE = "/var/lib/leftover.pid"
SOON = {"default-disk": 0, "default-inodes": 0, "default-clock": 2}  # for how many seconds their conditions must hold
# Several breakages of one disk, one soon after the other: each is to have a message of its own.
CONFIG = {**QUICK, "notifications": {"group_wait_s": 1, "group_s": 1}}
NGINX_CONF = "events {{}} pid /run/{name}.pid; error_log stderr; http {{ access_log off; {http} }}"
AHEAD = "import runpy, time; right = time.time; time.time = lambda: right() + 300; "
AHEAD += "runpy.run_path('/opt/opsapp/agent.pyz', run_name='__main__')"
# The lab's systemd has no memory controller, so such a unit enters a group of its own by itself.
EATER = """d=/sys/fs/cgroup/memory/system.slice/{name}.service
if [ -d /sys/fs/cgroup/memory ]; then mkdir -p $d; {limit}; echo $$ > $d/cgroup.procs; fi
exec python3 -c "x = bytearray(1500 << 20)"
"""


class Breakage:
    """What breaks a host, the words that are told, and what mends it. `{pid}` in the words is that of the unit `by`."""

    def __init__(self, name, target, said, *fault, mend=(), files=None, steps=None, by=None):
        self.name, self.target, self.said, self.mend, self.by = name, target, said, mend, by
        self.fault, self.files, self.steps = fault, files or {}, steps


def unit(name, said, start, more="", before=(), mend=(), files=None, by=None):
    """A unit that is enabled and does not come up."""
    text = f"[Service]\n{more}\nExecStart={start}\n[Install]\nWantedBy=multi-user.target\n"
    return Breakage(name, f"/{name}", said, *before, "systemctl daemon-reload", f"systemctl enable --now {name}",
                    mend=(f"systemctl disable --now {name}", f"systemctl reset-failed {name}", *mend), by=by,
                    files={f"{UNITS}/{name}.service": text, **(files or {})})  # fmt: skip


def script(name, said, text, **more):
    return unit(name, said, f"/bin/sh /root/{name}.sh", files={f"/root/{name}.sh": text}, **more)


def web(name, said, http, files=None, **more):
    """An nginx of its own."""
    conf = f"/etc/{name}.conf"
    return unit(name, said, f"/usr/sbin/nginx -c {conf} -g 'daemon off;'",
                files={conf: NGINX_CONF.format(name=name, http=http), **(files or {})}, **more)  # fmt: skip


def holder(name, does, holds="true"):
    """The unit of a Python program that does something once and stays, as files; it has begun when `holds`."""
    code = f"import os, signal, socket; {does}; signal.pause()"
    wait = f"/bin/sh -c 'until {holds}; do :; done'"
    return {f"{UNITS}/{name}.service": f'[Service]\nExecStart=/usr/bin/python3 -c "{code}"\nExecStartPost={wait}\n'}


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
    Breakage("held", f"/{DATA}",
             rf"{DATA} is \d+ % full: \S+ MB are in deleted files that python3 \(pid {{pid}}\) holds open",
             "systemctl daemon-reload", "systemctl start hoarder", mend=("systemctl stop hoarder",), by="hoarder",
             files=holder("hoarder",
                          f"file = open('{DATA}/gone', 'wb', 0); os.unlink(file.name); file.write(bytes(30000000))")),
    Breakage("inodes", f"/{DATA}", rf"{DATA} has used \d+ % of its inodes: the most files are in {DATA}/spool \(\d+\)",
             f"mkdir {DATA}/spool; cd {DATA}/spool; seq 48 | xargs touch", mend=(f"rm -r {DATA}/spool",)),
    web("taken", r"port 9302 is held by another process: python3 \(pid {pid}\)", "server { listen 9302; }",
        before=("systemctl daemon-reload", "systemctl start holder"), by="holder", mend=("systemctl stop holder",),
        files=holder("holder", "taken = socket.create_server(('', 9302))", "ss -ltn | grep -q :9302")),
    Breakage("expired", "-shop", r"the certificate of shop\.example ended on \w{3} .+ GMT", steps="expire"),
    Breakage("read-only", f"/{DATA}", f"{DATA} is mounted read-only, and nothing can write there", steps="disk_error",
             mend=(f"d=$(findmnt -no SOURCE {DATA}); umount {DATA}; e2fsck -fy $d;"
                   f" mount -o errors=remount-ro $d {DATA}",)),
    # No clock of the lab can be set: the agent's own is moved.
    Breakage("clock", "",
             r"the host's clock is (299|300|301) s ahead of that of the service, and it is not synchronised",
             "systemctl daemon-reload", "systemctl restart opsapp-agent",
             mend=(f"rm -r {UNITS}/opsapp-agent.service.d", "systemctl daemon-reload",
                   "systemctl restart opsapp-agent"),
             files={f"{UNITS}/opsapp-agent.service.d/ahead.conf": (
                 "[Service]\nExecStart=\n"
                 f'ExecStart=/usr/bin/python3 -I -S -c "{AHEAD}" --key-file /opt/opsapp/key --state /var/lib/opsapp'
                 " --config /opt/opsapp/agent.json\n")}),
)  # fmt: skip
CORE = ("masked", "full", "expired")


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
        serve = stack.enter_context(lab.serve(place / "server", CONFIG))
        serve.admin.post("/api/notifications/channels", {"name": "on-call", "url": receiver.url()})
        host = lab.host()
        stack.callback(lab.remove, host)
        device = stack.enter_context(disk(host))
        ward = Ward(host, serve)
        for rule_id, seconds in SOON.items():
            ward.api.put(f"/api/healing/rules/{rule_id}", {"for": seconds, "cooldown_s": 1})
        reported = f"disk.{DATA}.read_only"
        until(lambda: ward.metrics().get(reported) == 0 and ward.metrics()["services"].get("nginx") == "active", 60,
              what="the disk and nginx in a report")  # fmt: skip
        yield SimpleNamespace(ward=ward, host=host, receiver=receiver, device=device, place=place)


def disk_error(shop):
    """The kernel finds an error on the disk."""
    name = shop.device.removeprefix("/dev/")
    with open(f"/sys/fs/ext4/{name}/trigger_fs_error", "w", encoding="ascii") as file:
        file.write("as if a block were broken")


def expire(shop):
    """The host shows a certificate that has ended, and a monitor sees it."""
    host, api, domain = shop.host, shop.ward.api, "shop.example"
    live = f"/etc/letsencrypt/live/{domain}"
    certificate, key = (Path(path).read_text() for path in Authority(shop.place).issue(domain, [domain], days=-1))
    host.write(f"{live}/fullchain.pem", certificate)
    host.write(f"{live}/privkey.pem", key, 0o600)
    host.write("/etc/nginx/conf.d/shop.conf", f"server {{ listen 443 ssl; ssl_certificate {live}/fullchain.pem;"
               f" ssl_certificate_key {live}/privkey.pem; }}")  # fmt: skip
    host.exec("systemctl", "restart", "nginx")
    api.post("/api/healing/rules", {"id": "certificate", "condition": "cert_days < 14", "initial_level": "notify",
             "escalation_chain": [{"action": "cert_renew", "params": {"domain": domain}}]})  # fmt: skip
    api.post(MONITORS, {"name": f"{host.name}-shop", "type": "tls", "url": f"tls://{host.address}:443",
             "agent_id": shop.ward.agent_id})  # fmt: skip


STEPS = {"disk_error": disk_error, "expire": expire}


def first_line(shop, target, known):
    """Of the message about this target that is new."""
    return [one["message"].splitlines()[0] for one in list(shop.receiver.messages)[known:]
            if f"{spoken_target(target)}: " in one["title"] and not one["title"].endswith(": over")]  # fmt: skip


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
        newest = shop.ward.api.get("/api/healing/ledger?limit=3")
        raise AssertionError(f"{missed}: {about} {newest} {shop.ward.metrics()}\n{shop.ward.log()}") from None
    pid = breakage.by and shop.host.exec("systemctl", "show", "-PMainPID", breakage.by).stdout.strip()
    assert re.fullmatch(f"Cause: {breakage.said.replace('{pid}', str(pid))}\\.", line), line
    for command in breakage.mend:
        shop.host.exec("sh", "-c", command)
    if breakage.target == f"/{DATA}":  # the next one of this disk is to be a case of its own
        until(lambda: f"{spoken_target(target)}: over" in [one["title"] for one in shop.receiver.messages[known:]], 60,
              what="the end of it told")  # fmt: skip
