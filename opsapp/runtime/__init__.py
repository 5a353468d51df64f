"""What runs: the node, transactions in native threads, supervised greenlets, clock, outbox, leases, ids.

Lives here: how work is carried out. Must not: HTTP, anything of a feature.
"""
