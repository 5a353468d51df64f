"""Copies of the store in memory while a ZEO server goes away and comes back."""

import pytest

from opsapp.lib.problems import StoreAway
from opsapp.runtime.store.transactions import is_connected
from tests.support.app import Service
from tests.support.process import Zeo
from tests.support.projections import SAMPLES, Followed
from tests.support.waiting import until

pytestmark = pytest.mark.system


def test_no_projection_loses_a_change_while_the_server_is_away(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    monkeypatch.setenv("OPSAPP_SECRET_FILE", str(tmp_path / "secret.key"))
    with Zeo(tmp_path) as zeo:
        uris = zeo.uris()
        settings = {"zodbconn.uri": uris["store"], "zodbconn.uri.history": uris["history_store"]}
        here = Service(tmp_path, **settings, **{"opsapp.node": "here"})
        other = Service(tmp_path, **settings, **{"opsapp.node": "other"})
        try:
            followed = [Followed(here, name) for name in SAMPLES]
            for number, name in enumerate(["second", "third"]):
                for each in followed:
                    if number:
                        each.projection.reset()
                    other.transact(each.sample.call, each.id, name)
                zeo.kill()
                until(lambda: not is_connected(here.node.store.db), 30, what="the store is away")
                for each in followed:
                    before = each.shown
                    with pytest.raises(StoreAway):
                        each.catch_up()
                    assert each.shown == before
                    assert each.projection.behind or not number
                zeo.start()
                for service in (here, other):
                    stores = service.node.store.databases.values()
                    until(lambda stores=stores: all(map(is_connected, stores)), 60, what="connected")
                for each in followed:
                    until(lambda each=each, name=name: caught_up(each) == name, 60, what=f"{name} is taken")
        finally:
            here.close()
            other.close()


def caught_up(followed):
    try:
        followed.catch_up()
    except StoreAway:
        return None
    return followed.shown
