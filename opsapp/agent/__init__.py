"""The program on the hosts: session, probes, handlers, journal, spool.

Lives here: what runs as opsapp-agent, on the standard library and what its zipapp carries.
Must not: import anything of ours but wire.
"""
