"""What an installation is made of, as CycloneDX 1.5 JSON. Must not: name what is not in it."""

import json
import pathlib
import re
import uuid
from importlib import metadata

from opsapp.wire.version import VERSION

OWN = "opsapp"


def text(places):
    """The distributions found in these directories, sorted by name."""
    found = {}
    for distribution in metadata.distributions(path=[str(place) for place in places]):
        found.setdefault(normal(distribution.metadata["Name"]), distribution)
    parts = [component(name, distribution) for name, distribution in sorted(found.items()) if name != OWN]
    names = " ".join(part["purl"] for part in parts)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'pkg:pypi/{OWN}@{VERSION} {names}')}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": OWN,
                "name": OWN,
                "version": VERSION,
                "purl": f"pkg:pypi/{OWN}@{VERSION}",
            }
        },
        "components": parts,
        "dependencies": [{"ref": OWN, "dependsOn": sorted(part["bom-ref"] for part in parts)}],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def component(name, distribution):
    version = distribution.version
    purl = f"pkg:pypi/{name}@{version}"
    part = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    expression = distribution.metadata.get("License-Expression")
    if expression:
        return {**part, "licenses": [{"expression": expression}]}
    classified = distribution.metadata.get_all("Classifier") or []
    names = [line.rpartition(" :: ")[2] for line in classified if line.startswith("License :: ")]
    return {**part, "licenses": [{"license": {"name": licence}} for licence in sorted(set(names))]} if names else part


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def write(places, out):
    made = pathlib.Path(out) / f"opsapp-{VERSION}.cdx.json"
    made.write_text(text(places))
    return made
