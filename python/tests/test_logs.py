"""Records of `logging` go to the host, and lines of `print` to stdout and stderr."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Host

BOTH_TRANSPORTS_IN_CHECK = True


TOOLS = """
    import logging
    import os
    import sys
    import threading
    from snakepit_bridge import current_call, on_startup, tool

    module_logger = logging.getLogger("my.module")

    @on_startup
    def start() -> None:
        module_logger.info("starting")

    @tool
    def logs() -> None:
        module_logger.debug("too quiet to be sent")
        module_logger.info("%s and %d", "text", 1)
        current_call().logger.warning("by the call's logger")

    @tool
    async def logs_later() -> None:
        module_logger.info("later")

    @tool
    def logs_in_a_thread() -> None:
        thread = threading.Thread(target=module_logger.info, args=("no call here",))
        thread.start()
        thread.join()

    @tool
    def logs_badly() -> None:
        logging.raiseExceptions = False
        module_logger.info("%d", "no number")
        module_logger.info("x" * 100_000)
        module_logger.info("\\ud800")

    @tool
    def floods(records: int) -> None:
        for i in range(records):
            module_logger.info("record %d %s", i, "x" * 200)
        print("flooded", file=sys.stderr)

    @tool
    def prints() -> None:
        print("to stdout")
        print("to stderr", file=sys.stderr)

    @tool
    def logs_in_a_child() -> int:
        child = os.fork()
        if child == 0:
            module_logger.info("from a child")
            os._exit(0)
        return os.waitpid(child, 0)[1]
"""


def test_a_record_arrives_with_its_call_before_the_calls_end(start: Host) -> None:
    trace = {"traceparent": "00-" + "a" * 32 + "-" + "b" * 16 + "-01"}
    conversation = start(TOOLS).converse()
    # It waits for the conversation.
    started = conversation.logs.get(timeout=30)
    assert (started.message, started.call_id) == ("starting", 0)
    call_id = conversation.begin("logs", trace_context=trace)
    conversation.terminal(call_id)
    first, second = conversation.logs.get_nowait(), conversation.logs.get_nowait()
    assert first.message == "text and 1"
    assert first.logger == "my.module"
    assert first.level == 20
    assert first.call_id == call_id
    assert first.trace_id == "a" * 32
    assert first.span_id == "b" * 16
    assert first.time_us > 1_600_000_000_000_000
    assert second.message == "by the call's logger"
    assert second.logger == "tool.logs"
    assert second.level == 30
    assert conversation.logs.empty()


def test_the_host_sets_the_level(start: Host) -> None:
    conversation = start(TOOLS, logLevel=30).converse()
    conversation.call("logs")
    assert conversation.logs.get_nowait().message == "by the call's logger"
    assert conversation.logs.empty()


def test_a_record_of_an_asynchronous_tool_names_its_call(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=2).converse()
    conversation.logs.get(timeout=30)
    call_id = conversation.begin("logs_later")
    conversation.terminal(call_id)
    assert conversation.logs.get_nowait().call_id == call_id


def test_a_record_of_a_tools_own_thread_belongs_to_no_call(start: Host) -> None:
    conversation = start(TOOLS).converse()
    conversation.logs.get(timeout=30)
    conversation.call("logs_in_a_thread")
    assert conversation.logs.get_nowait().call_id == 0


def test_records_that_cannot_be_formatted_or_are_too_long_break_nothing(
    start: Host,
) -> None:
    conversation = start(TOOLS).converse()
    conversation.logs.get(timeout=30)
    conversation.call("logs_badly")
    long = conversation.logs.get_nowait().message
    assert len(long) <= 16 << 10
    assert "characters ..." in long
    assert conversation.logs.get_nowait().message == "\\ud800"


def test_records_faster_than_the_host_reads_are_dropped_and_counted(
    start: Host,
) -> None:
    worker = start(TOOLS)
    conversation = worker.converse()
    conversation.reads.clear()
    flood = conversation.begin("floods", [20_000])
    worker.wait_for_stderr("flooded")
    conversation.reads.set()
    conversation.terminal(flood)
    conversation.call("floods", [1])
    messages = []
    while not conversation.logs.empty():
        messages.append(conversation.logs.get().message)
    assert 1000 <= len(messages) < 20_002
    dropped = [message for message in messages if "were dropped" in message]
    assert dropped


def test_lines_that_are_printed_stay_on_stdout_and_stderr(start: Host) -> None:
    worker = start(TOOLS)
    worker.converse().call("prints")
    worker.wait_for_stdout("to stdout\n")
    worker.wait_for_stderr("to stderr\n")
    assert "to stderr" not in worker.stdout()


def test_a_forked_child_writes_its_records_to_stderr(start: Host) -> None:
    worker = start(TOOLS)
    assert worker.converse().call("logs_in_a_child") == 0
    worker.wait_for_stderr("INFO:my.module:from a child\n")


# -------- Records of `logging` that the tools handle themselves, or that go to stderr

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
