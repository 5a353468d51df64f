"""HTTP of SCIM, and of its tokens."""
