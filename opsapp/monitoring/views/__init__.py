"""The HTTP surface of /api/monitoring: views of 3 to 12 lines, no decisions of their own."""
