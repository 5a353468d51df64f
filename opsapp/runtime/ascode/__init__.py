"""Configuration as code: kinds of things, and how a document is made true. Must not: know a kind by its name."""
