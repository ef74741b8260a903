"""The conversation with the host, in a thread of its own that runs no user code."""
