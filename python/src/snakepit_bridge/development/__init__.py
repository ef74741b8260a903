"""Features of a worker that are used only while its tools are being written."""
