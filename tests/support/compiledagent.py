"""The agent's file with its code compiled for this Python too, as a host's is not: an agent that tests start compiles
nothing, which is more than half of its start.

The file that hosts get is what agents of another Python, and those that are measured, start from.
"""

import io
import py_compile
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from opsapp.agents.zipapp import SHEBANG, agent_file


@cache
def compiled_agent():
    """Its bytes."""
    file = io.BytesIO()
    file.write(SHEBANG)
    with (
        tempfile.TemporaryDirectory() as place,
        zipfile.ZipFile(io.BytesIO(agent_file().data)) as sources,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as both,
    ):
        sources.extractall(place)
        for name in sources.namelist():
            both.writestr(name, sources.read(name))
            if name.endswith(".py") and name != "__main__.py":
                both.writestr(f"{name}c", compiled(Path(place) / name, name))
    return file.getvalue()


def compiled(path, name):
    """Taken as it is, whatever the time of the source."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    return Path(py_compile.compile(path, f"{path}c", name, doraise=True, invalidation_mode=mode)).read_bytes()
