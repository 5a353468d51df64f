"""From the API's answers to what a page of its own look shows: words ready to read. One file per page area.

Pure. Must not: ask anybody, know a request or a template, decide what is allowed.
"""
