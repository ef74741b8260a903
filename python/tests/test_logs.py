"""Records of `logging` go to the host, and lines of `print` to stdout and stderr."""

from __future__ import annotations

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
    def logs_an_error() -> None:
        try:
            1 / 0
        except ZeroDivisionError:
            module_logger.exception("it broke")

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
    assert conversation.logs.get(timeout=30).message == "starting"
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


def test_a_record_of_the_start_waits_for_the_conversation(start: Host) -> None:
    log = start(TOOLS).converse().logs.get(timeout=30)
    assert (log.message, log.call_id) == ("starting", 0)


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


def test_a_record_with_an_error_carries_the_traceback(start: Host) -> None:
    conversation = start(TOOLS, logLevel=40).converse()
    conversation.call("logs_an_error")
    log = conversation.logs.get_nowait()
    assert log.message == "it broke"
    assert log.traceback.rstrip().endswith("ZeroDivisionError: division by zero")


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
