"""Decisions about names, passwords, attempts and codes, on plain values. Standard library only."""
