"""Secrets at rest: the master key and what is sealed with it. Must not: know which rooms have secrets."""
