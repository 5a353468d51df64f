"""What server and agent both speak. Standard library only: the agent's zipapp carries this package.

Must not: import anything of the server, open sockets or files, read clocks (a probe gets a Gate that does).
"""
