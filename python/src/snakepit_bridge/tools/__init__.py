"""Tools: how they are declared, found, described and given their arguments."""
