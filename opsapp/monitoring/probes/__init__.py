"""How the server looks at targets: `Prober.probe(target) -> Outcome`. The types are `opsapp.wire.monitortypes`.

Must not: persistent objects, decisions about state (`monitoring.logic.state` says what an outcome means). Everything
runs in greenlets on the hub and never blocks it.
"""
