"""The gRPC transport: the only part of the bridge that imports gRPC."""
