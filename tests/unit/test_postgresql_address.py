"""postgresql:// as people write it: what is libpq's, what is RelStorage's, what is ours."""

import psycopg2
import pytest
from psycopg2.extensions import parse_dsn

from opsapp.runtime.store.postgresql.address import LOCK_S, Waits, read_address
from opsapp.runtime.store.postgresql.connections import is_away
from opsapp.runtime.store.settings import check_apart

ours = ("connect_timeout", "tcp_user_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count")


def given(uri):
    return {name: value for name, value in parse_dsn(read_address(uri).dsn).items() if name not in ours}


@pytest.mark.parametrize(
    ("uri", "dsn"),
    [
        ("postgresql://user@host/db", {"user": "user", "host": "host", "dbname": "db"}),
        ("postgresql://host:5433/db", {"host": "host", "port": "5433", "dbname": "db"}),
        ("postgresql:///db?host=/run/postgresql", {"host": "/run/postgresql", "dbname": "db"}),
        ("postgresql://%2Frun%2Fpostgresql/db", {"host": "/run/postgresql", "dbname": "db"}),
        ("postgresql://u@[::1]:5432/db", {"user": "u", "host": "::1", "port": "5432", "dbname": "db"}),
        (
            "postgresql://u@one:1,two:2/db?target_session_attrs=read-write",
            {"user": "u", "host": "one,two", "port": "1,2", "dbname": "db", "target_session_attrs": "read-write"},
        ),
        (
            "postgresql://u@h/db?sslmode=verify-full&sslrootcert=/etc/a%20b+c.pem&passfile=/etc/p",
            {"user": "u", "host": "h", "dbname": "db", "sslmode": "verify-full", "sslrootcert": "/etc/a b+c.pem",
             "passfile": "/etc/p"},
        ),
        ("postgresql://u:p%40ss%20word@h/db", {"user": "u", "password": "p@ss word", "host": "h", "dbname": "db"}),
    ],
)  # fmt: skip
def test_what_libpq_gets(uri, dsn):
    assert given(uri) == dsn


def test_options_of_the_store_are_no_options_of_libpq():
    address = read_address(
        "postgresql://u:secret@h/db?keep_history=false&cache_local_mb=5&connection_cache_size=9&lock_timeout=0.5"
        "&wait_timeout=1&connect_timeout=4"
    )
    assert address.storage == {"keep_history": False, "cache_local_mb": 5}
    assert address.database == {"connection_cache_size": "9"}
    assert address.waits == Waits(start=1.0, lock=0.5)
    assert read_address("postgresql://h/db").waits.lock == LOCK_S
    assert parse_dsn(address.dsn)["connect_timeout"] == "4"
    assert address.name == "postgresql://h/db"


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("blah=1", 'invalid URI query parameter: "blah"'),
        ("keep_history=perhaps", "the store's option keep_history is wrong: 'perhaps' is neither true nor false"),
        ("lock_timeout=nan", "the store's option lock_timeout is wrong: 'nan' is no number of seconds"),
        ("cache_local_mb=much", "the store's option cache_local_mb is wrong"),
    ],
)
def test_a_wrong_option_is_named_and_the_password_is_not(option, said):
    with pytest.raises(ValueError) as told:
        read_address(f"postgresql://u:secret@h/db?{option}")
    assert said in str(told.value)
    assert "secret" not in str(told.value)


def test_one_database_for_both_stores_is_refused():
    main = "postgresql://h/db"
    check_apart({"zodbconn.uri": main, "zodbconn.uri.history": "postgresql://h/other"})
    check_apart({"zodbconn.uri": main})
    with pytest.raises(ValueError, match="name another database, or leave it out"):
        check_apart({"zodbconn.uri": main, "zodbconn.uri.history": f"{main}?keep_history=false"})


class Coded(psycopg2.OperationalError):
    def __init__(self, pgcode):
        self._code = pgcode

    pgcode = property(lambda self: self._code)


@pytest.mark.parametrize(
    ("problem", "closed", "away"),
    [
        (psycopg2.OperationalError("server closed the connection"), 0, True),
        (psycopg2.DatabaseError("server closed the connection"), 0, True),
        (psycopg2.InterfaceError("connection already closed"), 2, True),
        (psycopg2.ProgrammingError("no results to fetch"), 0, False),
        (Coded("57P01"), 0, True),
        (Coded("08006"), 0, True),
        (Coded("25006"), 0, True),
        (Coded("55P03"), 0, False),
        (Coded("40P01"), 0, False),
        (Coded("55P03"), 2, True),
    ],
)
def test_which_errors_say_that_the_database_is_away(problem, closed, away):
    assert is_away(problem, closed) is away
