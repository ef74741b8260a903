"""Memory that the worker and the host share: the page of calls, and large values."""
