"""Each cause from what is really so on this machine: sockets, files, mounts, processes. Only systemd is a fake tool."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading

import pytest

from opsapp.agent import diskcauses, holders, storage, unitcauses
from opsapp.agent.local import Certificate
from opsapp.agent.looks import AT_ONCE, CauseLooks, finder
from opsapp.wire import causes
from opsapp.wire.causes import CAUSES, LookSubject
from opsapp.wire.commands import HealCommand
from tests.support.certificates import Authority
from tests.support.fake_tools import Bench, Task
from tests.support.waiting import patience, until

UNIT = {"LoadState": "loaded", "UnitFileState": "enabled", "ActiveState": "failed", "Result": "exit-code",
        "ExecMainCode": "1", "ExecMainStatus": "1", "MemoryMax": "infinity",
        "ExecStart": "{ path=/bin/sh ; argv[]=/bin/sh -c x ; }"}  # fmt: skip
NGINX = LookSubject(service="nginx")


def systemd(lines=(), tools=None, **unit):
    shown = "\n".join(f"{name}={value}" for name, value in {**UNIT, **unit}.items())
    said = "\n".join(lines)
    return {"systemctl": f"cat <<'END'\n{shown}\nEND", "journalctl": f"cat <<'END'\n{said}\nEND", **(tools or {})}


@pytest.fixture
def look(tmp_path, monkeypatch):
    def make(subject=NGINX, scripts=None, **config):
        bench = Bench(tmp_path, monkeypatch, scripts or {}, **config)
        return CauseLooks(finder(bench.host))(subject)

    return make


def told(cause):
    return None if cause is None else (cause.id, cause.sentence)


# -- units ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "cause_id", "sentence"),
    [
        ({"LoadState": "masked", "ActiveState": "inactive"}, "masked", CAUSES["masked"].sentence),
        ({"UnitFileState": "masked-runtime"}, "masked", CAUSES["masked"].sentence),
        ({"LoadState": "not-found", "ActiveState": "inactive"}, "unit_missing", CAUSES["unit_missing"].sentence),
        ({"ExecStart": "{ path=/opt/gone/bin/web ; argv[]=web ; }"}, "binary_missing",
         "the program of {service} is gone: /opt/gone/bin/web does not exist"),
        ({"Result": "oom-kill", "MemoryMax": "67108864"}, "out_of_own_memory",
         "{service} was killed for memory: it reached its own limit of 67.1 MB"),
        ({"Result": "oom-kill"}, "out_of_host_memory", CAUSES["out_of_host_memory"].sentence),
        ({"Result": "oom-kill", "MemoryMax": str(1 << 60)}, "out_of_host_memory",
         CAUSES["out_of_host_memory"].sentence),
        ({"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9"}, "ended_by_signal",
         "{service} was ended by signal 9 (SIGKILL)"),
        ({"Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "999"}, "ended_by_signal",
         "{service} was ended by signal 999"),
        ({"ExecMainStatus": "125"}, "exited", "{service} ended with exit code 125"),
        ({"ExecMainStatus": "217"}, "exited", "{service} ended with exit code 217"),
    ],
)  # fmt: skip
def test_what_a_unit_shows(look, unit, cause_id, sentence):
    subject = LookSubject(service="web.service")
    cause = look(subject, systemd(["it broke"], **unit))
    assert told(cause) == (cause_id, sentence.format(service="web"))


@pytest.mark.parametrize(
    ("status", "step", "reason"),
    [
        ("200", "CHDIR", "its working directory cannot be entered"),
        ("203", "EXEC", "its program cannot be executed"),
        ("217", "USER", "its user is not known on the host"),
    ],
)
def test_a_unit_that_systemd_could_not_start_says_what_it_lacks(look, status, step, reason):
    line = f"web.service: Failed at step {step} spawning /bin/web: Permission denied"
    cause = look(LookSubject(service="web"), systemd([line], ExecMainStatus=status))
    assert told(cause) == ("not_startable", f"web could not be started: {reason}")
    assert cause.evidence == (line,)


@pytest.mark.parametrize(("user", "cause_id"), [("nobody-of-this-name", "not_startable"), ("root", "exited")])
def test_a_unit_whose_user_is_gone_although_no_line_says_it(look, user, cause_id):
    """systemd 252 writes only the status, and a program may end with the same one."""
    line = "web.service: Main process exited, code=exited, status=217/USER"
    assert look(LookSubject(service="web"), systemd([line], ExecMainStatus="217", User=user)).id == cause_id


def test_a_unit_whose_file_of_variables_is_gone(look):
    line = "web.service: Failed to load environment files: No such file or directory"
    cause = look(LookSubject(service="web"), systemd([line], Result="resources", ExecMainStatus="0"))
    assert told(cause) == ("not_startable", "web could not be started: its file of variables cannot be read")


def test_the_last_lines_are_evidence(look):
    assert look(scripts=systemd(["one", "", "two"])).evidence == ("one", "two")


@pytest.mark.parametrize("unit", [{"ActiveState": "active"}, {"ActiveState": "inactive", "Result": "success",
                                                              "ExecMainStatus": "0"}])  # fmt: skip
def test_a_unit_that_runs_or_was_stopped_shows_no_cause(look, unit):
    assert look(LookSubject(service="web"), systemd(["Address already in use port 1"], **unit)) is None


KERNEL = ("[47497.85] oom-kill:constraint=CONSTRAINT_{kind},nodemask=(null),cpuset=/,mems_allowed=0,{limit},"
          "task_memcg=/system.slice/{unit},task=python3,pid=7,uid=0")  # fmt: skip
OWN, HOSTS = ("MEMCG", "oom_memcg=/system.slice/web.service"), ("NONE", "global_oom")
KILLED = {"Id": "web.service", "Result": "signal", "ExecMainCode": "2", "ExecMainStatus": "9",
          "MemoryMax": "67108864", "ExecMainExitTimestampMonotonic": "47498100000"}  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "of", "unit", "cause_id"),
    [
        (OWN, "web.service", {}, "out_of_own_memory"),
        (HOSTS, "web.service", {}, "out_of_host_memory"),
        (HOSTS, "web.service", {"Result": "oom-kill"}, "out_of_host_memory"),
        (HOSTS, "other.service", {}, "ended_by_signal"),
        (OWN, "web.service", {"ExecMainExitTimestampMonotonic": "90000000000"}, "ended_by_signal"),
    ],
)
def test_whose_limit_it_was_is_what_the_kernel_says(look, limit, of, unit, cause_id):
    line = KERNEL.format(kind=limit[0], limit=limit[1], unit=of)
    scripts = systemd(tools={"dmesg": f"echo '{line}'"}, **{**KILLED, **unit})
    scripts["journalctl"] = 'case "$*" in *--dmesg*) exit 1;; esac; echo ate'
    cause = look(LookSubject(service="web"), scripts)
    assert cause.id == cause_id
    assert cause.evidence == (("ate",) if cause_id == "ended_by_signal" else ("ate", line))


def test_where_systemd_does_not_answer_nothing_is_known(look):
    assert look(scripts={"systemctl": "echo Failed to connect to bus; exit 1"}) is None


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_that_another_process_holds(look, family, host):
    program = "import socket,sys\ns=socket.create_server((sys.argv[1],0),family=int(sys.argv[2]))\n" \
              "print(s.getsockname()[1],flush=True)\nsys.stdin.read()"  # fmt: skip
    argv = [sys.executable, "-c", program, host, str(int(family))]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        port = holder.stdout.readline().strip()
        line = f"nginx: [emerg] bind() to 0.0.0.0:{port} failed (98: Address already in use)"
        cause = look(scripts=systemd(["before", line], tools={"nginx": "exit 0"}))
        assert cause.id == "port_held"
        assert (cause.fields["port"], cause.fields["pid"]) == (port, str(holder.pid))
        assert cause.fields["process"].startswith("python")
        assert cause.evidence == (line,)
        holder.stdin.close()


@contextlib.contextmanager
def held_port():
    """The port and the pid of another process that listens there."""
    program = "import socket,sys; s=socket.create_server(('127.0.0.1',0)); print(s.getsockname()[1],flush=True)" \
              "; sys.stdin.read()"  # fmt: skip
    argv = [sys.executable, "-c", program]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        yield holder.stdout.readline().strip(), str(holder.pid)
        holder.stdin.close()


NAMELESS = "OSError: [Errno 98] Address already in use"


def start(words):
    return f"{{ path=/bin/sh ; argv[]=/bin/sh {words} ; ignore_errors=no ; pid=80 ; status=0/0 }}"


@pytest.mark.parametrize(
    "words",
    ["--port {}", "--port={} --workers 4", "--http-port={}", "-p {} -d", "-b 127.0.0.1:{} app", "--bind=[::]:{}",
     "--listen :{}", "--web.listen-address=:{}", "-m http.server {}", "manage.py runserver 0.0.0.0:{}"],
)  # fmt: skip
def test_a_program_that_does_not_say_which_port_is_in_use_names_it_in_its_command_line(look, words):
    with held_port() as (port, pid):
        cause = look(LookSubject(service="web"), systemd([NAMELESS], ExecStart=start(words.format(port))))
    assert told(cause) == (
        "port_held",
        f"port {port} is held by another process: {cause.fields['process']} (pid {pid})",
    )
    assert cause.evidence == (NAMELESS,)


@pytest.mark.parametrize(
    "words",
    ["--workers {}", "--db-port={}", "--upstream 127.0.0.1:{}", "http://127.0.0.1:{}/", "--workers {} --port 1"],
)
def test_a_number_of_the_command_line_that_is_no_port_is_no_cause(look, words):
    with held_port() as (port, _):
        assert look(LookSubject(service="web"), systemd([NAMELESS], ExecStart=start(words.format(port)))).id == "exited"


def test_a_port_of_the_command_line_is_no_cause_where_nobody_says_that_it_is_in_use(look):
    with held_port() as (port, _):
        cause = look(LookSubject(service="web"), systemd(["bye"], ExecStart=start(f"--port {port}")))
    assert cause.id == "exited"


def test_the_port_of_the_socket_of_a_unit_that_another_process_holds(look):
    with held_port() as (port, pid):
        scripts = systemd([NAMELESS], TriggeredBy="web.socket")
        listens = f"Listen=/run/web.sock (Stream)\nListen=127.0.0.1:{port} (Stream)"
        scripts["systemctl"] = (
            f'case "$*" in *=Listen*web.socket) printf "{listens}\\n"; exit;; esac\n{scripts["systemctl"]}'
        )
        cause = look(LookSubject(service="web"), scripts)
    assert (cause.id, cause.fields["port"], cause.fields["pid"]) == ("port_held", port, pid)


def test_a_port_that_is_free_again_is_no_cause(look):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    cause = look(scripts=systemd([f"bind() to 0.0.0.0:{port} failed (98: Address already in use)"]))
    assert cause.id == "exited"


def test_the_unit_itself_does_not_hold_its_port():
    own = unitcauses.cgroup_of(os.getpid()).splitlines()[-1].partition("::")[2] or "/"
    holder = holders.Holder(os.getpid(), "x")
    assert unitcauses._is_of(holder, own)
    assert not unitcauses._is_of(holder, "/system.slice/nginx.service")


def test_a_configuration_that_does_not_pass_its_own_test(look):
    test = "echo 'nginx: [emerg] unknown directive \"lsten\" in /etc/nginx/nginx.conf:3' >&2; exit 1"
    cause = look(scripts=systemd(["old"], tools={"nginx": test}))
    assert told(cause) == ("config_broken", "the configuration of nginx does not pass its own test (nginx -t)")
    assert "nginx.conf:3" in cause.evidence[-1]


def test_a_directory_that_is_there_only_while_sshd_runs_is_no_cause(look):
    test = "echo 'Missing privilege separation directory: /run/sshd'; exit 255"
    assert look(LookSubject(service="ssh"), systemd(tools={"sshd": test})).id == "exited"


def test_units_that_are_not_known_are_not_tested(look, tmp_path):
    look(LookSubject(service="web"), systemd(tools={"web": "exit 1"}))
    assert [line.split("\037")[0] for line in (tmp_path / "calls").read_text().splitlines()] == [
        "systemctl", "journalctl",
    ]  # fmt: skip


def test_a_name_that_does_not_resolve(look):
    line = 'nginx: [emerg] host not found in upstream "db.invalid" in /etc/nginx/nginx.conf:9'
    cause = look(scripts=systemd(tools={"nginx": f"echo '{line}'; exit 1"}))
    assert told(cause) == ("name_not_resolved", "the name db.invalid cannot be resolved on the host")


def test_a_complaint_that_names_nothing_is_no_cause():
    assert unitcauses._no_name("it could not resolve host") is None


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_stale_pid_file(look, tmp_path, is_gone):
    with subprocess.Popen(["sleep", "60"]) as process:
        if is_gone:
            process.kill()
            process.wait()
        path = tmp_path / "web.pid"
        path.write_text(f"{process.pid}\n")
        cause = look(LookSubject(service="web"), systemd(PIDFile=path, ControlGroup="/system.slice/web.service"))
        process.kill()
    assert told(cause) == (
        "stale_pid_file",
        f"the pid file of web is stale: {path} names pid {process.pid}, which is not its process",
    )


@pytest.mark.parametrize(("text", "program", "cause_id"), [("{gone}\n", "/bin/sh", "stale_pid_file"),
                                                           ("{alive}\n", "/bin/sh", "stale_pid_file"),
                                                           ("{alive}\n", shutil.which("sleep"), "exited"),
                                                           ("", "/bin/sh", "exited")])  # fmt: skip
def test_a_pid_file_that_the_program_complains_of(look, tmp_path, text, program, cause_id):
    """systemd removes the file that the unit names; one that was started by hand is no stale one."""
    with subprocess.Popen(["true"]) as gone, subprocess.Popen(["sleep", "60"]) as alive:
        gone.wait()
        path, line = tmp_path / "web.pid", f"pid file {tmp_path}/web.pid exists, is it running already?"
        path.write_text(text.format(gone=gone.pid, alive=alive.pid))
        cause = look(LookSubject(service="web"), systemd([line], ExecStart=f"{{ path={program} ; argv[]=web ; }}"))
        alive.kill()
    assert (cause.id, cause.evidence) == (cause_id, (line,))


def test_a_clock_that_is_off(look):
    clock = {"timedatectl": "echo NTPSynchronized=no"}
    cause = look(LookSubject(service="web"), systemd(["certificate is not yet valid"], tools=clock))
    assert told(cause) == ("clock_off", "the host's clock is not synchronised, and web refuses dates")
    assert cause.evidence == ("certificate is not yet valid",)


# -- disks ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def mounted(tmp_path):
    """A file system of its own."""
    place = tmp_path / "mounted"
    place.mkdir()
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=200", "tmpfs", place], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("only root may mount, where mounting is allowed")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def overlaid(tmp_path, mounted):
    """Files of an overlay carry the device of the file system that they lie on, its directories that of the overlay."""
    place = tmp_path / "overlaid"
    for directory in (place, tmp_path / "lower", mounted / "upper", mounted / "work"):
        directory.mkdir()
    options = f"lowerdir={tmp_path}/lower,upperdir={mounted}/upper,workdir={mounted}/work"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(path, size):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)


def test_a_full_disk_and_by_what(look, mounted):
    fill(mounted / "log/big.log", 3_600_000)
    fill(mounted / "small", 1000)
    cause = look(LookSubject(mount=str(mounted)))
    assert cause.id == "disk_full"
    assert cause.sentence == f"{mounted} is 86 % full: the most is in {mounted}/log (3.6 MB)"
    assert f"3.6 MB {mounted}/log/big.log" in cause.evidence


def test_deleted_and_held_open_and_by_whom(look, mounted):
    path = mounted / "gone.log"
    with path.open("wb") as file:
        file.write(b"x" * 3_000_000)
        file.flush()
        path.unlink()
        cause = look(LookSubject(mount=str(mounted)))
    assert cause.id == "disk_held"
    assert (cause.fields["size"], cause.fields["pid"]) == ("3 MB", str(os.getpid()))
    assert "gone.log" in cause.evidence[0]


def test_an_overlay_is_full_of_its_own_files(look, overlaid):
    fill(overlaid / "log/big.log", 3_600_000)
    cause = look(LookSubject(mount=str(overlaid)))
    assert cause.sentence == f"{overlaid} is 86 % full: the most is in {overlaid}/log (3.6 MB)"


def test_deleted_files_of_an_overlay_are_held_there(look, overlaid):
    path = overlaid / "gone.log"
    with path.open("wb") as file:
        file.write(b"x" * 3_000_000)
        file.flush()
        path.unlink()
        cause = look(LookSubject(mount=str(overlaid)))
    assert (cause.id, cause.fields["pid"]) == ("disk_held", str(os.getpid()))


def test_deleted_files_elsewhere_are_not_held_where_no_mount_has_a_number(tmp_path, monkeypatch):
    """Kernels before 3.15, and some sandboxes, do not say to which mount an open file belongs."""
    monkeypatch.setattr(holders, "maybe", lambda path: None if "/fdinfo/" in path else "")
    path = tmp_path / "gone.log"
    with path.open("wb") as file:
        file.write(b"x" * 3_000)
        file.flush()
        path.unlink()
        assert holders.deleted_on(str(tmp_path), lambda: True)
        assert holders.deleted_on("/proc", lambda: True) == []


def test_a_table_of_inodes_that_is_full(look, mounted):
    (mounted / "spool").mkdir()
    for number in range(190):
        (mounted / f"spool/{number}").touch()
    cause = look(LookSubject(mount=str(mounted)))
    assert cause.id == "inodes_full"
    assert f"{mounted}/spool (190)" in cause.sentence


def test_a_mount_that_turned_read_only(look, mounted):
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    cause = look(LookSubject(mount=str(mounted)))
    assert told(cause) == ("read_only", f"{mounted} is mounted read-only, and nothing can write there")


@pytest.mark.parametrize(("words", "cause_id"), [("No space left on device", "disk_full"),
                                                 ("Read-only file system", "read_only")])  # fmt: skip
def test_a_unit_that_cannot_write(look, mounted, words, cause_id):
    fill(mounted / "full", 3_900_000)
    if cause_id == "read_only":
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    cause = look(LookSubject(service="web"), systemd([f"open {mounted}/lib/db: {words}"]))
    assert (cause.id, cause.fields["mount"]) == (cause_id, str(mounted))


def test_small_files_are_the_cause_where_inodes_lack_whatever_else_is_held(look, mounted):
    for number in range(190):
        (mounted / str(number)).touch()
    path = mounted / "gone.log"
    with path.open("wb") as file:
        file.write(b"x" * 1_000_000)
        file.flush()
        path.unlink()
        assert look(LookSubject(mount=str(mounted))).id == "inodes_full"


def test_a_disk_that_has_space_again_is_no_cause(look, mounted):
    """Watches of files and quotas run out with the same words."""
    fill(mounted / "small", 1000)
    lines = [f"cannot watch {mounted}/small: No space left on device"]
    assert look(LookSubject(service="web"), systemd(lines)).id == "exited"


def test_what_could_not_be_seen_in_time_is_said(tmp_path):
    fill(tmp_path / "a/file", 5000)
    walked = diskcauses.walk(str(tmp_path), os.stat(tmp_path).st_dev, iter([True, False]).__next__)
    cause = diskcauses._by_size("/x", diskcauses.Usage(91.0, 1, 0.0), walked._replace(sizes={"/x/a": 5000}))
    assert "of the part that could be seen in time" in cause.sentence


def test_no_mount_no_cause(look, tmp_path):
    assert look(LookSubject(mount=str(tmp_path))) is None


# -- the clock -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ahead", "said", "sentence"),
    [
        (301.4, "NTPSynchronized=no",
         "the host's clock is 301 s ahead of that of the service, and it is not synchronised"),
        (-45.0, "NTPSynchronized=yes",
         "the host's clock is 45 s behind that of the service, and it says that it is synchronised"),
        (45.0, "", "the host's clock is 45 s ahead of that of the service, and whether it is synchronised is unknown"),
        (1.0, "NTPSynchronized=no", None),
        (None, "NTPSynchronized=no", None),
    ],
)  # fmt: skip
def test_a_clock_that_differs_from_that_of_the_service(tmp_path, monkeypatch, ahead, said, sentence):
    host = Bench(tmp_path, monkeypatch, {"timedatectl": f"echo {said}"}).host._replace(clock_ahead_s=lambda: ahead)
    cause = CauseLooks(finder(host))(LookSubject(clock=True))
    assert told(cause) == (None if sentence is None else ("clock_apart", sentence))


# -- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")
@pytest.mark.parametrize("days", [-1, 30])
def test_an_expired_certificate(look, tmp_path, days):
    path, _ = Authority(tmp_path).issue("site.example", days=days)
    hook = Certificate("site.example", path, ("true",))
    cause = look(LookSubject(domain="site.example"), certificates={"site.example": hook})
    if days > 0:
        assert cause is None
        return
    assert cause.id == "certificate_expired"
    assert cause.sentence.startswith("the certificate of site.example ended on ")
    assert [cause.kind.in_vain(action) for action in ("cert_renew", "restart_service")] == [False, True]


ACME, DEHYDRATED = ".acme.sh/site.example_ecc/fullchain.cer", "dehydrated/certs/site.example/fullchain.pem"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl program")
@pytest.mark.parametrize(("renewed", "cause_id"), [(None, "certificate_expired"), (DEHYDRATED, None)])
def test_the_newest_file_of_whatever_renews_certificates_here(look, tmp_path, monkeypatch, renewed, cause_id):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(storage, "DEHYDRATED", (f"{tmp_path}/dehydrated/certs",))
    for place, days in ((ACME, -1), (renewed, 30)):
        if place:
            (tmp_path / place).parent.mkdir(parents=True)
            shutil.copy(Authority(tmp_path).issue("site.example", days=days)[0], tmp_path / place)
    os.utime(tmp_path / ACME, (1e9, 1e9))
    cause = look(LookSubject(domain="site.example"))
    assert (cause and cause.id) == cause_id


# -- the limit of a look -------------------------------------------------------------------------------------------


def test_a_look_that_hangs_is_unknown_and_so_is_what_comes_behind_too_many(tmp_path):
    release, begun = threading.Event(), []

    def hangs(subject, budget):
        begun.append(subject)
        release.wait()

    looks = CauseLooks(hangs, patience_s=0.01)
    assert [looks(LookSubject(service=str(number))) for number in range(AT_ONCE + 2)] == [None] * (AT_ONCE + 2)
    until(lambda: len(begun) >= AT_ONCE, what="the beginning of those that hang")
    assert len(begun) == AT_ONCE
    release.set()


def test_a_program_that_hangs_is_ended(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, systemd(tools={"nginx": f"echo $$ > {tmp_path}/pid; exec sleep 600"}))
    cause = CauseLooks(finder(bench.host), patience_s=patience() / 5)(NGINX)
    assert cause is None or cause.id == "exited"
    pid = int((tmp_path / "pid").read_text())
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    assert not os.path.exists(f"/proc/{pid}")


def test_what_breaks_is_unknown():
    def breaks(subject, budget):
        raise ValueError("odd")

    assert CauseLooks(breaks)(NGINX) is None


# -- the healer ----------------------------------------------------------------------------------------------------


def test_the_phase_look_answers_with_the_cause_and_keeps_evidence_for_the_output(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, systemd(["password: 1234"]))
    task = Task(HealCommand("h", 0, "look", params={"service": "nginx"}))
    answer = bench.healer(task)
    assert answer.data == {"phase": "look", "cause": {"id": "exited", "fields": {"service": "nginx", "code": "1"}}}
    assert answer.ran.output == b"password: 1234"
    assert bench.acted == 0
    assert causes.read(answer.data["cause"], "password: 1234").evidence == ("password: 1234",)


def test_a_failed_act_says_the_cause(tmp_path, monkeypatch):
    shows = systemd(LoadState="masked", ActiveState="inactive")["systemctl"]
    bench = Bench(tmp_path, monkeypatch, {"systemctl": f'[ "$2" = restart ] && exit 1\n{shows}'})
    answer = bench.execute("restart_service", service="nginx")
    assert answer.ran.status == "failed"
    assert answer.data["cause"] == {"id": "masked", "fields": {"service": "nginx"}}


# -- the table -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "params", "subject"),
    [
        ('service.nginx.state == "failed"', {}, LookSubject(service="nginx")),
        ("service.app@1.service.failed == 1 and cpu_percent > 1.5", {}, LookSubject(service="app@1.service")),
        ("disk./var.percent >= 90", {}, LookSubject(mount="/var")),
        ("disk_percent >= 90", {}, LookSubject(mount="/")),
        ("inodes./srv.percent >= 90", {}, LookSubject(mount="/srv")),
        ("inode_percent >= 90", {}, LookSubject(mount="/")),
        ("disk./srv.read_only == 1", {}, LookSubject(mount="/srv")),
        ("service.web.masked == 1", {}, LookSubject(service="web")),
        ("clock_off_s >= 30", {}, LookSubject(clock=True)),
        ("disk./var.percent >= 90", {"mount": "/srv"}, LookSubject(mount="/srv")),
        ("cpu_percent > 90", {"pid": 1}, LookSubject()),
        ('service.*.state == "failed"', {}, LookSubject()),
        ("status == 'down'", {"service": "web", "domain": "a.example"}, LookSubject(service="web", domain="a.example")),
    ],
)
def test_what_is_looked_at_for_a_condition(condition, params, subject):
    assert causes.subject_of(condition, params) == subject
