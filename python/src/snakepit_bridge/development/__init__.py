"""What a worker does only while its tools are being written."""
