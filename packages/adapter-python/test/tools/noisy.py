"""Tools that print, log and die."""

import logging
import os
import signal
import sys

from snakepit_bridge import current_call, on_shutdown, tool

logger = logging.getLogger("shop")


@tool
def draws(updates: int) -> None:
    """Draws as tqdm does, and waits until the host has read it."""
    for update in range(1, updates + 1):
        sys.stderr.write(f"\r{update:6} of {updates}")
        sys.stderr.flush()
    sys.stderr.write("\n")
    current_call().host("drawn")


@tool
def logs() -> None:
    logger.info("looking for tea")
    logger.warning("no price for %s", "tea")
    try:
        {}["tea"]
    except KeyError:
        logger.exception("it broke")


@tool
def logs_by_itself() -> None:
    own = logging.StreamHandler()
    own.setFormatter(logging.Formatter("the tools say: %(message)s"))
    logger.addHandler(own)
    logger.warning("no price for %s", "ink")
    logger.removeHandler(own)


@tool
def dies() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@on_shutdown
def close() -> None:
    raise RuntimeError("the door is stuck")
