"""Values and their image, as docs/values.md describes it."""
