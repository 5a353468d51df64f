"""The six stages, and the cases that they decide about. `stepping.following` says what follows for a case;
`moves.MOVES` is all that may.

Lives here: pure functions of a case or an event, the world as it is read, and `now`. Must not: read or write the store,
clocks, sockets. The engine commits and performs what they decide; dry run and replay call the same functions.
"""
