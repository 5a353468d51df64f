"""A store in PostgreSQL, by RelStorage: the address, the connections, what is heard of commits, the storage.

Lives here: what RelStorage leaves to its user (addresses as everybody writes them, a database that is away, commits of
others noticed without a transaction, waits that end). Must not: know what is stored, or be imported where nobody asked
for PostgreSQL: the library is an extra of the wheel.
"""
