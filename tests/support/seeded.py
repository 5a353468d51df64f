"""Put into a server by `pyramid.includes`: /api/seed puts down confirmed subscribers of the status page.

`?mail=N` for addresses n0@example.org and so on, `?webhook=N&url=U` for U/0 and so on: by the form it would be one
request, one message and one answer for each.
"""

from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.runtime.secrets.seals import seal_of
from opsapp.statuspages.resources import SUBSCRIBER, Subscriber, mark_of, store_of
from opsapp.tree.root import Api


def includeme(config):
    config.add_view(seed, context=Api, name="seed", permission=NO_PERMISSION_REQUIRED, renderer="json")


def seed(context, request):
    root, asked = request.root, request.params
    now = request.node.clock.now()
    for n in range(int(asked.get("mail", 0))):
        confirmed(root, "mail", f"n{n}@example.org", now)
    for n in range(int(asked.get("webhook", 0))):
        confirmed(root, "webhook", f"{asked['url']}/{n}", now)
    return {"confirmed": len(store_of(root).confirmed)}


def confirmed(root, kind, address, now):
    store = store_of(root)
    sealed = seal_of(root).seal(address, SUBSCRIBER)
    store.confirm(store.add(Subscriber(kind, sealed, mark_of(root, kind, address), (), now)), now)
