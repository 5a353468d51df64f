"""Several nodes on one store: who is there, who does what, and how they talk. Must not: what one node alone needs."""
