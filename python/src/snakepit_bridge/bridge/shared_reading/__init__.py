"""Two threads that read what the host sends: whichever is free."""
