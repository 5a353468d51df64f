"""How HTTP behaves: server, policy, permissions, errors, body and query derivers, streams, OpenAPI.

Lives here: everything that is true of every request. Must not: know a feature.
"""


def includeme(config):
    from .setup import set_up

    set_up(config)
