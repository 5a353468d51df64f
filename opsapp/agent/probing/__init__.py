"""Looking at a monitor's target from this host, because the server asks for it (`probe_from`). Standard library only.

The types and their probes are `opsapp.wire.monitortypes`; here are this host's sockets and its web requests. `Probing`
runs probes in threads of their own and answers in time whatever the target, a name server or a thread does. Nothing is
stored: a probe that is lost is asked for again.
"""
