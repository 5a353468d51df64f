"""What SCIM says and means, on plain values."""
