"""python -m distribution [DIR]: the wheel, the Debian packages and the list of their parts, into DIR (dist/).

Two builds of one commit give the same bytes. dpkg-deb is needed for the Debian packages; without it only the wheel and
the list are written, and the exit code is 1.
"""

import hashlib
import pathlib
import shutil
import sys
import tempfile

from . import debs, sbom, source, wheel


def main(words):
    out = pathlib.Path(words[0] if words else source.ROOT / "dist").resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        work = pathlib.Path(place)
        made = [wheel.build(work, out)]
        site = work / "site"
        debs.install(made[0], site, work)
        made.append(sbom.write([site], out))
        debian = shutil.which("dpkg-deb") is not None
        if debian:
            made += [debs.service(site, work, out), debs.agent(work, out)]
    for path in made:
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.stat().st_size / 2**20:7.1f} MB  {path.name}")
    if not debian:
        print("no Debian packages: dpkg-deb is missing", file=sys.stderr)
    return 0 if debian else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
