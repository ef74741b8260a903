"""What a tool sees of its call."""
