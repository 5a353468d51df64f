"""`opsapp serve --demo` as a process of its own, for tests and the bench."""

import re
import sys
from pathlib import Path

from .process import ROOT, Process, free_port


class Demo(Process):
    """Ready once it says how to sign in."""

    name = "demo"

    def __init__(self, directory):
        super().__init__(directory)
        self.port, self.data = free_port(), self.directory / "var"

    def command(self):
        ini = ROOT / "development.ini"
        where = [f"--port={self.port}", f"--data={self.data}"]
        return [sys.executable, "-m", "opsapp.cli", "serve", str(ini), "--demo", *where]

    def is_ready(self):
        return "Ctrl-C ends the demo" in self.tail()

    @property
    def place(self):
        return self.data / "demo"

    def has_healed(self):
        return re.search(r"demo-shop-stopped for Demo shop: verified", self.tail())

    def family(self):
        """Its children."""
        tasks = Path(f"/proc/{self.child.pid}/task").iterdir()
        return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
