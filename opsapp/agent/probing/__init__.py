"""Looking at a monitor's target from this host, because the server asks for it (`probe_from`). Standard library only.

The probes are in `opsapp.wire`; here are this host's sockets and its web requests. `Probing` answers in time whatever
the target, a name server or a thread does. Nothing is stored: a probe that is lost is asked for again.
"""
