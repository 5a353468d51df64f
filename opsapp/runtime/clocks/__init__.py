"""The one clock, and what happens when it is set. Must not: decide what is due."""
