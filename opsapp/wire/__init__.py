"""What server and agent both speak. Standard library only: the agent's zipapp carries this package.

Lives here: frames, messages, the action table, the condition language, the version.
Must not: import anything of the server, touch sockets, files or clocks.
"""
