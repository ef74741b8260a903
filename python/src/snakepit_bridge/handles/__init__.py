"""Objects that stay in the worker while the host holds a reference to them."""
