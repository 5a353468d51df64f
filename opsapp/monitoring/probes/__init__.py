"""How the server looks at targets: `Prober.probe(target) -> Outcome`. The types are `opsapp.wire.monitortypes`.

Lives here: the hub's sockets, name resolution, web requests and the transfer loop. Must not: persistent objects,
decisions about state (a probe says what it saw; `monitoring.logic.state` says what that means).
Everything here runs in greenlets on the hub and never blocks it.
"""
