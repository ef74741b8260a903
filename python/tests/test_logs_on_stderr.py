"""Records of `logging` that the tools handle themselves, or that go to stderr."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Host

BOTH_TRANSPORTS_IN_CHECK = True

CONFIGURES = {
    "basicConfig": "logging.basicConfig(format='by the tools: %(message)s')",
    "a handler of the root": "logging.getLogger().addHandler(logging.StreamHandler())",
    "a handler of its own": "logging.getLogger('shop').addHandler(logging.StreamHandler())",
    "a handler that drops all": "logging.getLogger('shop').addHandler(logging.NullHandler())",
}


@pytest.mark.parametrize("configuring", CONFIGURES)
def test_a_record_reports_whether_the_tools_have_a_handler_for_it(
    start: Host, configuring: str
) -> None:
    worker = start(
        f"""
        import logging
        from snakepit_bridge import tool

        @tool
        def warns() -> None:
            logging.getLogger("shop.till").warning("no change")

        @tool
        def configures() -> None:
            {CONFIGURES[configuring]}
        """
    )
    conversation = worker.converse()
    conversation.call("warns")
    assert not conversation.logs.get_nowait().handled
    conversation.call("configures")
    conversation.call("warns")
    log = conversation.logs.get_nowait()
    assert (log.message, log.handled) == ("no change", True)
    if "drops" not in configuring:
        worker.wait_for_stderr("no change\n")


def test_basic_config_of_the_tools_works_beside_the_forwarding(
    start: Host, tmp_path: Path
) -> None:
    file = tmp_path / "tools.log"
    conversation = start(
        f"""
        import logging
        from snakepit_bridge import tool

        logging.basicConfig(filename={str(file)!r}, level=logging.DEBUG)

        @tool
        def logs() -> None:
            logging.getLogger("shop").info("sold")
            logging.getLogger("shop").debug("in detail")
        """
    ).converse()
    conversation.call("logs")
    assert conversation.logs.get_nowait().message == "sold"
    assert conversation.logs.empty()
    assert "INFO:shop:sold\nDEBUG:shop:in detail\n" in file.read_text()


ENDS_OF_A_START = {
    "raises": "raise RuntimeError('cannot go on')",
    "leaves": "os._exit(3)",
    "dies": "os.kill(os.getpid(), signal.SIGKILL)",
    "hangs": "time.sleep(600)",
}


@pytest.mark.parametrize("end", ENDS_OF_A_START)
def test_a_warning_during_the_start_is_on_stderr_however_the_start_ends(
    host: Host, end: str
) -> None:
    worker = host(
        f"""
        import logging
        import os
        import signal
        import time

        logging.getLogger("shop").info("looking for the model")
        logging.getLogger("shop").warning("no model in %s", "/models")
        {ENDS_OF_A_START[end]}
        """
    )
    worker.spawn()
    worker.launch()
    worker.wait_for_stderr("WARNING:shop:no model in /models\n")
    assert "looking" not in worker.stderr()


def test_a_warning_during_a_start_that_succeeds_is_reported_once(start: Host) -> None:
    worker = start(
        """
        import logging
        from snakepit_bridge import tool

        logging.getLogger("shop").warning("no model")

        @tool
        def asks() -> None: ...
        """
    )
    log = worker.converse().logs.get(timeout=30)
    assert (log.message, log.handled) == ("no model", True)
    worker.wait_for_stderr("WARNING:shop:no model\n")


def test_the_last_records_before_a_crash_arrive(start: Host) -> None:
    conversation = start(
        """
        import logging
        import os
        import signal
        from snakepit_bridge import tool
        from snakepit_bridge.bridge import log_forwarding

        # On a busy machine the bridge's thread may not run within half a second.
        log_forwarding.MAX_WAIT_S = 9

        @tool
        def dies() -> None:
            logging.getLogger("shop").info("into the cellar")
            logging.getLogger("shop").warning("the stairs are rotten")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        # What gRPC says it has written may still be in this process.
        transport="framed",
    ).converse()
    conversation.begin("dies")
    assert conversation.logs.get(timeout=30).message == "into the cellar"
    assert conversation.logs.get(timeout=30).message == "the stairs are rotten"


def test_a_warning_that_is_dropped_is_on_stderr(start: Host) -> None:
    worker = start(
        """
        import logging
        from snakepit_bridge import tool

        @tool
        def floods() -> None:
            for i in range(20_000):
                logging.getLogger("shop").info("record %d %s", i, "x" * 2_000)
            # gRPC takes megabytes that nobody reads yet, but not so many.
            for _ in range(5_000):
                logging.getLogger("shop").warning("sold out")
        """
    )
    conversation = worker.converse()
    conversation.reads.clear()
    flood = conversation.begin("floods", [])
    worker.wait_for_stderr("WARNING:shop:sold out\n")
    conversation.reads.set()
    conversation.terminal(flood)


def test_records_reach_the_host_although_logging_config_removes_handlers(
    start: Host,
) -> None:
    worker = start(
        """
        import logging.config
        from snakepit_bridge import tool

        logging.config.dictConfig({
            "version": 1,
            "handlers": {"own": {"class": "logging.StreamHandler"}},
            "root": {"level": "WARNING", "handlers": ["own"]},
        })

        @tool
        def logs() -> None:
            logging.getLogger("shop").info("too quiet for the tools")
            logging.getLogger("shop").warning("no change")
        """
    )
    conversation = worker.converse()
    conversation.call("logs")
    log = conversation.logs.get_nowait()
    assert (log.message, log.handled) == ("no change", True)
    worker.wait_for_stderr("no change\n")


def test_a_warning_after_the_conversation_is_on_stderr(start: Host) -> None:
    worker = start(
        """
        import atexit
        import logging
        from snakepit_bridge import on_shutdown, tool

        logger = logging.getLogger("shop")
        atexit.register(lambda: logger.warning("closed for ever"))

        @tool
        def opens() -> None: ...

        @on_shutdown
        def close() -> None:
            raise RuntimeError("the door is stuck")
        """
    )
    conversation = worker.converse()
    conversation.half_close()
    log = conversation.logs.get(timeout=30)
    assert log.message == "a shut-down hook failed"
    assert "the door is stuck" in log.traceback
    worker.wait_for_stderr("WARNING:shop:closed for ever\n")
