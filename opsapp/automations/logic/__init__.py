"""Decisions about automations and runs on plain values; standard library, lib and wire only."""
