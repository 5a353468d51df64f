"""Small pure helpers: durations, networks, cron, ids, the domain's problems.

Lives here: functions on plain values. Must not: state, input or output, any other room.
"""
