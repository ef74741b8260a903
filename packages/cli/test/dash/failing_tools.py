"""Tools whose workers cannot start as soon as a file is gone: a volume that is not mounted any more."""

import os
from pathlib import Path

from snakepit_bridge import tool

MODEL = Path(__file__).with_name("model.bin")
if not MODEL.exists():
    raise FileNotFoundError(f"{MODEL}: is the volume mounted?")


@tool
def resize(image: int) -> int:
    """Resizes an image."""
    return image


@tool
def leave() -> None:
    """Ends its worker, and with it the volume."""
    MODEL.unlink(missing_ok=True)
    os._exit(7)


@tool
def resize_the_large_images_of_all_customers_of_the_northern_region(image: int) -> int:
    """Has a long name."""
    return image
