"""The one version string of server and agent. Here and not in metadata, because a zipapp has none."""

VERSION = "0.3.0"
