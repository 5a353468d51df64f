"""The six stages, named as the document names them, and the cases that they decide about.

`stepping.following` says what follows for a case, as one of the answers in `moves`; `moves.MOVES` is the table of all
that may follow. `case` has a class for each state.

Lives here: pure functions of a case or an event, the world as it is read, and `now`. Must not: read or write the store,
clocks, sockets. The engine commits what they decide and then performs it; the dry run and the replay call the same
functions and only tell what they decide.
"""
