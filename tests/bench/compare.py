"""Checks of http targets beside Debian's prometheus + prometheus-blackbox-exporter, same targets, same run.

Both look at the same nginx for a while, one after the other: CPU for each check, what their data grow by, memory held.
COMPARE_TARGETS and COMPARE_INTERVAL set the load, COMPARE_WINDOW for how long each is measured: theirs holds more
memory with each minute of its first ten. Needs nginx-light, and for their part two more Debian packages, which
`apt-get install --no-install-recommends` brings (docs/guide/monitoring.md says how without starting their services).
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bench import Row
from tests.bench.checks import CLIENTS, Nginx, metric, register
from tests.support.process import Serve, free_port
from tests.support.waiting import until

TARGETS = int(os.environ.get("COMPARE_TARGETS", "1000"))
INTERVAL = int(os.environ.get("COMPARE_INTERVAL", "5"))
WINDOW_S = int(os.environ.get("COMPARE_WINDOW", "30"))
THEIRS = ("prometheus", "prometheus-blackbox-exporter")


class Use(dict):
    """What some processes have used so far: seconds of CPU, bytes of their data on disk, bytes of memory held now."""

    def __init__(self, pids, data):
        files = [path for path in Path(data).rglob("*") if path.is_file()]
        super().__init__(cpu=0.0, written=sum(path.stat().st_size for path in files), resident=0)
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            self["cpu"] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            self["resident"] += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


class Theirs:
    """Prometheus that scrapes each target by way of the exporter."""

    def __init__(self, directory, target):
        self.directory, self.exporter, self.port = Path(directory), free_port(), free_port()
        targets = [f"http://127.0.0.1:{target.port}/{n}" for n in range(TARGETS)]
        (self.directory / "blackbox.yml").write_text("modules: {http_2xx: {prober: http, timeout: 4s}}\n")
        # JSON is YAML too.
        (self.directory / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": f"{INTERVAL}s", "scrape_timeout": f"{INTERVAL - 1}s"},
            "scrape_configs": [{
                "job_name": "blackbox", "metrics_path": "/probe", "params": {"module": ["http_2xx"]},
                "static_configs": [{"targets": targets}],
                "relabel_configs": [
                    {"source_labels": ["__address__"], "target_label": "__param_target"},
                    {"source_labels": ["__param_target"], "target_label": "instance"},
                    {"target_label": "__address__", "replacement": f"127.0.0.1:{self.exporter}"},
                ],
            }],
        }))  # fmt: skip

    def __enter__(self):
        place, quiet = self.directory, {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.children = [
            subprocess.Popen([THEIRS[1], f"--config.file={place}/blackbox.yml",
                              f"--web.listen-address=127.0.0.1:{self.exporter}"], **quiet),
            subprocess.Popen([THEIRS[0], f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data",
                              f"--web.listen-address=127.0.0.1:{self.port}"], **quiet),
        ]  # fmt: skip
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.terminate()
        for child in self.children:
            child.wait(60)

    def checks(self):
        """How many targets were up when they were looked at last."""
        try:
            query = f"http://127.0.0.1:{self.port}/api/v1/query?query=sum(probe_success)"
            with urllib.request.urlopen(query) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            return 0
        return int(found[0]["value"][1]) if found else 0


def over(window, pids, data, count):
    """(ms of CPU a thousand, bytes on disk each, MB held) for the checks of this stretch; `count` tells how many."""
    before, made = Use(pids, data), count()
    time.sleep(window)
    after, made = Use(pids, data), count() - made
    cpu, written = after["cpu"] - before["cpu"], after["written"] - before["written"]
    return cpu / made * 1e6, written / made, after["resident"] / 2**20


def measure():
    with tempfile.TemporaryDirectory() as place, Nginx(place) as target:
        with Serve(place) as serve:
            assert serve.admin.token
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda n: register(serve, target, n, INTERVAL), range(TARGETS)))
            until(lambda: metric(serve, "opsapp_checks_total") > 2 * TARGETS, 120, every=1, what="two rounds of checks")
            ours = over(WINDOW_S, [serve.child.pid], serve.directory, lambda: metric(serve, "opsapp_checks_total"))
        yield from rows("ours", ours)
        missing = [name for name in THEIRS if shutil.which(name) is None]
        if missing:
            print(f"  (theirs not measured: {' and '.join(missing)} not installed; Debian has packages of these names)")
            return
        with Theirs(place, target) as theirs:
            until(lambda: theirs.checks() == TARGETS, 120, every=1, what="their first round")
            began = time.monotonic()
            # They make one check a target and interval, and say no count of all of them.
            made = lambda: (time.monotonic() - began) * TARGETS / INTERVAL  # noqa: E731
            found = over(WINDOW_S, [child.pid for child in theirs.children], f"{place}/data", made)
        yield from rows("theirs", found)
        yield Row("our CPU a check as a part of theirs", ours[0] / found[0], "", "at most 1/6 (0.17)")
        yield Row("our memory as a part of theirs", ours[2] / found[2], "", "at most 0.1 at 10,000")


def rows(whose, found):
    yield Row(f"{whose}: CPU per 1,000 checks", found[0], "ms", "at most 150" if whose == "ours" else "")
    yield Row(f"{whose}: data grow per check, before folding", found[1], "bytes")
    yield Row(f"{whose}: memory with {TARGETS:,} targets", found[2], "MB")
