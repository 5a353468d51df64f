"""The agent program: reads the configuration, takes the lock, wires the parts, and stops them cleanly.

Exit codes: 0 stopped as asked, 1 failed (--once without an answer), 2 wrong use, 3 another agent holds the state.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from types import FrameType
from typing import Dict, List, Optional

from opsapp.wire.reports import HostReport
from opsapp.wire.version import VERSION

from .armed import Armed
from .capabilities import ToolManifest
from .commands import handlers
from .config import AgentConfig, ConfigError, load, read_key
from .disk import reserve, take_lock
from .executor import CommandExecutor
from .files import FileGet, FilePut
from .guard import watch
from .heal import Healer
from .journal import CommandJournal
from .link import Link
from .offline import Offline
from .outcomes import Outcomes
from .paths import PathRules
from .protected import ProtectedNames
from .reporter import Reporter
from .serverclock import ServerClock
from .snapshots import LocalHost, Snapshots
from .spool import Spool
from .steady import SteadyClock
from .streams import Make, MetricsStream, OpenStreams
from .tails import LogTail, end_left
from .update import Updater, restart_argv

log = logging.getLogger("agent")
STOP_S = 6.0
HOUSEKEEPING_S = 300.0


class AgentProgram:
    def __init__(self, config: AgentConfig, argv: List[str]):
        self.config = config
        self.restarting = False
        self.program: Optional[str] = None  # to restart into; None: the same
        self.updater = Updater(config, argv, self._restart)
        reserve.use(os.path.join(config.state_dir, "reserve"), config.reserve_bytes)
        rules = PathRules(config)
        self.capabilities = ToolManifest()
        self.journal = CommandJournal(config.state_dir, time.time())
        self.spool = Spool(config.state_dir, config.spool_bytes)
        self.reporter = Reporter(config, self.spool, self.capabilities, self._tell)
        table = handlers(self.capabilities, rules, self._tell)
        steady = SteadyClock()
        self.outcomes = Outcomes(config.state_dir, steady)
        self.armed = Armed(config.state_dir, steady)
        clock = ServerClock(os.path.join(config.state_dir, "server-clock.json"), self.reporter.metrics.boot_id)
        protected = ProtectedNames(config.state_dir, config.protected_processes)
        healer = table["heal"] = Healer(
            self.journal,
            LocalHost(self.capabilities, protected.names, config, clock.ahead_s),
            Snapshots(config.state_dir),
            self.armed,
            self._measure,
            self.reporter.acted,
        )
        table["update"] = self.updater
        self.updater.executor = self.executor = CommandExecutor(
            self.journal,
            table,
            busy_limit=config.busy_limit,
            start_expiry_s=config.start_expiry_s,
            tell=self._tell,
            output=self._output,
            started=self._started,
        )
        streams = OpenStreams(self._stream_kinds(rules))
        self.link = Link(config, self.executor, self.reporter, self.spool, streams, self.outcomes)
        self.link.server_time = clock.heard
        self.offline = Offline(
            config,
            healer,
            self.outcomes,
            self.armed,
            measure=lambda: self.reporter.measure("measure"),
            recent=self.reporter.recent,
            silent_for=self.link.silent_for,
            tell=self._tell,
            server_time=clock.now,
        )
        self.link.policies = self.offline.take
        self.link.protect = protected.take
        self.link.on_key_refused = self._key_refused
        self.link.policy_version = lambda: self.offline.version
        self._stopping = threading.Event()

    def run(self) -> int:
        self._handle_signals()
        threading.Thread(target=self._probe, daemon=True, name="capabilities").start()
        update = self.updater.pending()
        end_left(self.config.state_dir)
        self.executor.recover(but=update["command_id"] if update else None)
        if update:
            threading.Thread(
                target=self.updater.judge, args=(update, self.link.connected_once.wait), daemon=True, name="update"
            ).start()
        threading.Thread(target=self.armed.run, daemon=True, name="armed").start()
        if self.config.once:
            self.reporter.lookouts.look_now()
            self._stopping.wait(self.reporter.metrics.rates.ready_in())
            done = self.link.once()
            self._close()
            return 0 if done else 1
        threading.Thread(target=self._report, daemon=True, name="reporter").start()
        threading.Thread(target=self.reporter.lookouts.run, daemon=True, name="lookouts").start()
        threading.Thread(target=self.offline.run, daemon=True, name="offline").start()
        threading.Thread(target=self._keep_house, daemon=True, name="housekeeping").start()
        self.link.run()
        if update and not self.restarting:
            self.updater.left()
        self._close()
        return 0

    def stop(self) -> None:
        self._stopping.set()
        self.reporter.stop()
        self.reporter.lookouts.stop()
        self.armed.stop()
        self.offline.stop()
        self.link.stop(comes_back=self.restarting)

    def _stream_kinds(self, rules: PathRules) -> Dict[str, Make]:
        most = self.config.max_file_bytes
        return {
            "metrics": lambda number, params, ws: MetricsStream(number, params, ws, self.reporter.stream),
            "file_get": lambda number, params, ws: FileGet(number, params, ws, rules, most),
            "file_put": lambda number, params, ws: FilePut(number, params, ws, rules, most),
            "logs": lambda number, params, ws: LogTail(number, params, ws, rules, self.config.state_dir),
        }

    # ---- what the parts tell each other
    def _tell(self) -> None:
        self.link.tell()

    def _output(self, name: str, data: bytes) -> None:
        self.link.output(name, data)

    def _started(self, name: str, at: float) -> None:
        self.link.started(name, at)

    def _measure(self) -> HostReport:
        report = self.reporter.measure("measure")
        self.spool.put(report)
        self.link.tell()
        return report

    # ---- threads
    def _key_refused(self) -> None:
        """It was rotated: begin anew with the one that the key file holds by now, when nothing runs."""
        try:
            changed = bool(self.config.key_file) and read_key(self.config.key_file) != self.config.key
        except ConfigError as error:
            log.error("%s", error)
            return
        if changed and not self.config.once and not self.journal.open():
            log.info("the key file holds another key: starting again with it")
            self._restart()

    def _restart(self, program: Optional[str] = None) -> None:
        self.restarting, self.program = True, program
        self.stop()

    def _probe(self) -> None:
        while not self._stopping.is_set():
            self.capabilities.probe()
            self._stopping.wait(self.config.capability_check_s)

    def _report(self) -> None:
        try:
            self.reporter.run()
        except Exception:
            log.exception("the reporter died")
            os._exit(70)  # half an agent is worse than none: the service manager starts a whole one

    def _keep_house(self) -> None:
        while not self._stopping.wait(HOUSEKEEPING_S):
            self.journal.compact(time.time())
            reserve.fill()

    # ---- start and end
    def _handle_signals(self) -> None:
        def leave(_number: int, _frame: Optional[FrameType]) -> None:
            threading.Thread(target=self.stop, name="stop").start()

        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, leave)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def _close(self) -> None:
        self.executor.stop(STOP_S)
        self.journal.close()
        self.spool.close()
        self.outcomes.close()
        log.info("stopped")


def main(argv: Optional[List[str]] = None) -> int:
    logging.basicConfig(
        stream=sys.stderr,
        level=os.environ.get("OPSAPP_AGENT_LOG", "INFO").upper(),
        format="%(levelname)s %(name)s %(message)s",
    )
    argv = sys.argv[1:] if argv is None else argv
    try:
        config = load(argv, os.environ)
        if config.check:
            return check(config)
        if config.guard:
            return guard(config, argv)
        os.umask(0o077)
        os.makedirs(config.state_dir, mode=0o700, exist_ok=True)
        lock = take_lock(config.state_dir)
    except ConfigError as error:
        log.error("%s", error)
        return 2
    except OSError as error:
        log.error("cannot use the state directory: %s", error)
        return 2
    if lock is None:
        log.error("another agent already runs on %s", config.state_dir)
        return 3
    os.environ.pop("OPSAPP_AGENT_KEY", None)
    log.info("opsapp-agent %s for %s at %s", VERSION, config.agent_id, config.server)
    agent = AgentProgram(config, argv)
    code = agent.run()
    if agent.restarting:
        env = {**os.environ, **({"OPSAPP_AGENT_KEY": config.key} if config.key_from_environment else {})}
        again = restart_argv(argv, agent.program)
        os.execve(again[0], again, env)
    return code


def guard(config: AgentConfig, argv: List[str]) -> int:
    """Guard an update, running as the old version."""
    place = argv.index("--guard")
    argv = argv[:place] + argv[place + 2 :]
    env = dict(os.environ)
    if config.key_file and "OPSAPP_AGENT_KEY" in env:
        del env["OPSAPP_AGENT_KEY"]  # it was handed over for us alone
    return watch(config.state_dir, config.guard, config.update_trial_s, restart_argv(argv), env)


def check(config: AgentConfig) -> int:
    """Check the configuration without lock and journal, beside a running agent."""
    with tempfile.TemporaryDirectory() as directory:
        return 0 if AgentProgram(dataclasses.replace(config, state_dir=directory), []).link.check() else 1
