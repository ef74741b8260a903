"""How calls run: when each begins, in which thread, and how it ends."""
