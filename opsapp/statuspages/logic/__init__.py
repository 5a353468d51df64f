"""Pure decisions about the public status page: settings, pictures, the calendar, addresses, letters."""
