"""Messages, versions of the protocol, origins, tables of tools and prompts. Pure."""
