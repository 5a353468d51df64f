"""Pure decisions on plain values, `now` passed in: levels, bounds, alerts, graph, windows, brake, the hash chain."""
