"""The gRPC transport: nothing else of the bridge imports gRPC."""
