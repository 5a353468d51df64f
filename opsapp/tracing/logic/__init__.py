"""Ids, spans and their encoding. Pure."""
