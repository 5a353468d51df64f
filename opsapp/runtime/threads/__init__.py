"""Native threads and greenlets, and what crosses between them. Must not: open a transaction."""
