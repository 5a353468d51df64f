"""What the door decides by itself: messages, versions of the protocol, origins, the table of tools. Pure."""
