"""The framed transport: length-prefixed frames directly on the socket."""
