"""The framed transport: the same frames, length-prefixed, on the socket itself."""
