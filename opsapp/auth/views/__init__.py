"""HTTP of users, sessions and credentials."""
