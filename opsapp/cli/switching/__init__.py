"""`opsapp import --from`: what other programs watch, as a document of configuration as code and a report about it.

Lives here: one module for each program, pure functions from its file's content to an `Estate`. Must not: open a store,
and leave anything out without saying it.
"""
