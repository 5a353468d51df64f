"""How a target is measured: one file per monitor type behind `Prober.probe(target) -> Outcome`.

Lives here: sockets, name resolution, the transfer loop. Must not: persistent objects, decisions about state
(a probe says what it saw; `monitoring.logic.state` says what that means).
Everything here runs in greenlets on the hub and never blocks it.
"""
