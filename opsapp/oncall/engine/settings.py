"""The names that the steps of on call share."""

LEASE = "oncall"
QUEUE = "oncall"
