"""What keeps the store: its transactions, engines and files. Must not: know what is stored."""
