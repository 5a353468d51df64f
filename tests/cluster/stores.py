"""The stores that are tried: a ZEO server that cuts off who holds a lock, and PostgreSQL with a replica."""

from tests.support.postgres import USER, Postgres
from tests.support.process import Zeo

from .places import Disk

PORT = {"zeo": 6079, "postgresql": 5432}
DISK_MB = {"zeo": 160, "postgresql": 480}
SMALL = {"max_wal_size": "64MB", "min_wal_size": "32MB", "shared_buffers": "32MB"}


class ZeoStore(Zeo):
    """On a disk of its own."""

    def __init__(self, place):
        self.disk = Disk(DISK_MB["zeo"])
        super().__init__(self.disk.path, port=PORT["zeo"], cuts=True, host=place.address)
        self.inside, self.place = place.inside, place
        self.addresses = (place.address,)

    def remove(self):
        self.end()
        self.disk.remove()


class PostgresStore(Postgres):
    """The same; `replicas` are further places, each of which may get a streaming replica."""

    def __init__(self, place, *replicas):
        super().__init__(port=PORT["postgresql"], settings=SMALL, host=place.address)
        self.disk = Disk(DISK_MB["postgresql"])
        self.move(self.disk.path)
        self.successor = None
        self.inside, self.place, self.replicas = place.inside, place, replicas
        self.addresses = (place.address, *(place.address for place in replicas))

    def init(self):
        super().init()
        with open(self.files / "pg_hba.conf", "a") as file:
            file.write("host all all samenet trust\nhost replication all samenet trust\n")

    def uris(self):
        """Of all the servers that may be the one to write to."""
        return {"store": self._uri(self.make_database()), "history_store": self._uri(self.make_database())}

    def _uri(self, database):
        hosts = ",".join(f"{address}:{self.port}" for address in self.addresses)
        return f"postgresql://{USER}@{hosts}/{database}?target_session_attrs=read-write"

    def replica(self):
        """A streaming replica on the next place, to which every commit goes before it is answered."""
        self.successor = copy = Replica(self, self.replicas[0])
        copy.start(60)
        self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.ask("SELECT pg_reload_conf()")
        return copy

    def remove(self):
        if self.successor is not None:
            self.successor.remove()
        super().remove()
        self.disk.remove()


class Replica(Postgres):
    def __init__(self, primary, place):
        super().__init__(port=primary.port, settings=SMALL, host=place.address)
        self.primary, self.inside, self.place = primary, place.inside, place

    def init(self):
        from_there = ("-h", self.primary.host, "-p", self.port, "-U", USER)
        self.run("pg_basebackup", *from_there, "-D", self.files, "-R", "-X", "stream", "-c", "fast")

    def is_ready(self):
        """Up, and fed by the other one."""
        if not super().is_ready():
            return False
        return self.primary.ask("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == [(1,)]

    def promote(self):
        self.ask("ALTER SYSTEM SET synchronous_standby_names = ''")
        assert self.ask("SELECT pg_promote(true, 60)") == [(True,)]
