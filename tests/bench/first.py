"""How long a newcomer waits: from the start to the page where one signs in, from the demo's start to its first verified
heal, and, as root with the lab's hosts, from `apt install` on a bare host to the signed-in page.
"""

import shutil
import tempfile
import time
from pathlib import Path

from distribution import debs, wheel
from tests.bench import Row, seconds_of
from tests.fleet.lab import Lab, Unavailable
from tests.fleet.test_packages import installed, signed_in
from tests.support.demo import Demo
from tests.support.process import Serve
from tests.support.waiting import until


def measure():
    with tempfile.TemporaryDirectory() as place:
        with Serve(Path(place) / "serve") as serve:
            serve.kill()
            shutil.rmtree(serve.data)
            yield Row("from `serve` on no data to the first page", seconds_of(serve.start), "s", "under 5")
        began = time.monotonic()
        with Demo(Path(place) / "demo") as demo:
            yield Row("from `serve --demo` to the words how to sign in", time.monotonic() - began, "s")
            until(demo.has_healed, 120, what="a verified heal")
            yield Row("from `serve --demo` to the first verified heal", time.monotonic() - began, "s", "under 120")
            demo.stop()
        yield from on_a_bare_host(Path(place))


def on_a_bare_host(place):
    try:
        lab = Lab()
    except Unavailable as reason:
        print(f"  from `apt install` to the signed-in page: not measured, {reason}")
        return
    try:
        debs.install(wheel.build(place, place), place / "site", place)
        package = debs.service(place / "site", place, place)
        host = lab.host()
        began = time.monotonic()
        installed(host, package)
        signed_in(host)
        yield Row("from `apt install` to the signed-in page", time.monotonic() - began, "s", "under 60")
    finally:
        lab.close()
