"""How a call is cancelled: the request, and the exception in the code of its tool."""
