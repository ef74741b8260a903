"""Values and their encoding, as docs/values.md describes it."""
