"""Looking at a monitor's target from this host, because the server asks for it (`probe_from`). Standard library only.

Each kind is one function `probe(target, gate) -> outcome`. `Probing` runs them in threads of their own and answers in
time whatever the target, a name server or a thread does. Nothing is stored: a probe that is lost is asked for again.
"""
