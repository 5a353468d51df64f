"""Pure decisions on plain values, `now` passed in."""
