"""Tools that need a file which is not there."""

from pathlib import Path

MODEL = Path("/not/mounted/model.bin").read_bytes()
