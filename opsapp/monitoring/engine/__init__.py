"""What runs for monitors: greenlet steps, and operations shared with views. No HTTP in here."""
