"""Tools as TypeScript types."""
