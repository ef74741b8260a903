"""Several calls at once in one worker: what belongs to each of them, and to a session."""

from __future__ import annotations

from conftest import Host
from support.calls_at_once import AT_ONCE, MEETING, answers

from snakepit_bridge.bridge.grpc_transport._gen import bridge_pb2 as pb
from snakepit_bridge.values.decode import decode
from snakepit_bridge.values.encode import encode

BOTH_TRANSPORTS_IN_CHECK = True

TOOLS = (
    MEETING
    + """
    import logging
    from typing import Any
    from snakepit_bridge import current_call

    @tool
    def describe(word: str) -> dict[str, Any]:
        call = current_call()
        arrive()
        assert current_call() is call
        assert call.session is not None
        call.session["word"] = word
        call.logger.info("a word of %s", word)
        logging.getLogger("elsewhere").info("another of %s", word)
        arrive()
        assert call.remaining is not None and call.remaining <= 60
        return {
            "id": current_call().call_id,
            "session": call.session,
            "trace": call.trace_context["traceparent"],
        }

    @tool
    def share(key: int) -> list[int]:
        session = current_call().session
        assert session is not None
        session[key] = None
        arrive()
        return sorted(session)

    @tool
    def ask(question: int) -> Any:
        return current_call().host("question", question)

    @tool(input=int)
    def add_up() -> int:
        arrive()
        return sum(current_call().input)
"""
)


def test_each_call_has_its_own_context(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    words = {
        conversation.begin(
            "describe",
            [word],
            session_id=word,
            timeout_ms=60_000,
            trace_context={"traceparent": f"00-{word * 32}-{word * 16}-01"},
        ): word
        for word in "abcd"
    }
    found = answers(conversation, list(words))
    for call_id, word in words.items():
        assert found[call_id] == [
            {
                "id": call_id,
                "session": {"word": word},
                "trace": f"00-{word * 32}-{word * 16}-01",
            }
        ]
    logs = [conversation.logs.get(timeout=30) for _ in range(2 * AT_ONCE)]
    seen = sorted((log.call_id, log.logger, log.message, log.trace_id) for log in logs)
    assert seen == sorted(
        line
        for call_id, word in words.items()
        for line in (
            (call_id, "tool.describe", f"a word of {word}", word * 32),
            (call_id, "elsewhere", f"another of {word}", word * 32),
        )
    )


def test_calls_of_one_session_share_its_dictionary_at_once(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [
        conversation.begin("share", [key], session_id="one") for key in range(AT_ONCE)
    ]
    found = answers(conversation, calls).values()
    assert list(found) == [[[0, 1, 2, 3]]] * AT_ONCE


def test_each_call_gets_the_hosts_answer_to_its_own_question(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin("ask", [number]) for number in range(AT_ONCE)]
    questions = [conversation.receive().host_call for _ in calls]
    assert sorted(question.call_id for question in questions) == calls
    for question in reversed(questions):
        value = encode([question.call_id, decode(question.argument)])
        result = pb.HostResult(host_call_id=question.host_call_id, value=value)
        conversation.send(host_result=result)
    found = answers(conversation, calls)
    assert found == {call_id: [[call_id, i]] for i, call_id in enumerate(calls)}


def test_each_call_reads_its_own_input(start: Host) -> None:
    conversation = start(TOOLS, callsPerWorker=AT_ONCE).converse()
    calls = [conversation.begin("add_up", has_input=True) for _ in range(AT_ONCE)]
    for item in range(5):
        for call_id in calls:
            value = encode(call_id * 100 + item)
            conversation.send(input=pb.Input(call_id=call_id, value=value))
    for call_id in calls:
        conversation.send(input_end=pb.InputEnd(call_id=call_id))
    found = answers(conversation, calls)
    assert found == {call_id: [call_id * 500 + 10] for call_id in calls}
