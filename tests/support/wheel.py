"""What the wheel of opsapp needs besides, without a network. distribution/wheel.py builds it."""

from importlib import metadata

from pip._vendor.packaging.requirements import Requirement


def dependencies(wheel):
    """The distributions in this environment that the wheel needs, with all that they need themselves."""
    (own,) = metadata.distributions(name="opsapp", path=[str(wheel)])
    needed = {}
    open_ends = _wanted(own, set())
    while open_ends:
        requirement = open_ends.pop()
        installed = metadata.distribution(requirement.name)
        if installed.name not in needed:
            needed[installed.name] = installed
            open_ends += _wanted(installed, requirement.extras)
    return list(needed.values())


def _wanted(distribution, extras):
    """What it requires on this machine, with these of its extras."""
    every = map(Requirement, distribution.requires or [])
    return [
        requirement
        for requirement in every
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras})
    ]
