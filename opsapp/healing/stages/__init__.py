"""The six stages, one file each, named as the document names them.

Lives here: pure functions of a case or an event, the world as it is read, and `now`; they answer with decisions.
Must not: read or write the store, clocks, sockets. The engine commits what they decide and then performs it; the dry
run calls the same functions and throws their decisions away.
"""
