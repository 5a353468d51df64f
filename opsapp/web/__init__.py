"""What is true of every request: server, policy, permissions, errors, derivers, streams, OpenAPI. Must not: know a
feature."""


def includeme(config):
    from .setup import set_up

    set_up(config)
