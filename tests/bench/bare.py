"""A bare Pyramid view on a stock gevent server, to stand beside ours: `python -m tests.bench.bare PORT`.

Its listener has TCP_NODELAY, which gevent leaves out and which costs nine tenths of the rate: no straw man.
"""

import sys

from gevent import socket
from gevent.pywsgi import WSGIServer
from pyramid.config import Configurator


def hello(request):
    return {"username": "ada", "role": "admin"}


def application():
    config = Configurator()
    config.add_route("me", "/api/me")
    config.add_view(hello, route_name="me", renderer="json")
    return config.make_wsgi_app()


if __name__ == "__main__":
    server = WSGIServer(("127.0.0.1", int(sys.argv[1])), application(), log=None)
    server.init_socket()
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server.serve_forever()
