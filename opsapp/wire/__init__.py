"""What server and agent both speak. Standard library only: the agent's zipapp carries this package.

Lives here: frames, messages, the action table, the monitor types and their probes, the condition language, the version.
Must not: import anything of the server, open sockets or files, read clocks (a probe gets a Gate that does).
"""
