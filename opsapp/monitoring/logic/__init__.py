"""Pure decisions about monitors, on plain values with `now` passed in. Standard library, lib and wire only."""
