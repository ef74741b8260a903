"""What is done in the moment in which a module is imported."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest
from conftest import Host

from snakepit_bridge.when_imported import _Loader, when_imported

NAME = "imported_by_a_test"


@pytest.fixture
def finders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Sequence[object]]:
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    yield before
    sys.meta_path[:] = before
    sys.modules.pop(NAME, None)


def module(directory: Path, text: str) -> None:
    (directory / f"{NAME}.py").write_text(text)


def test_what_finds_the_module_without_importing_it_can_read_its_source(
    tmp_path: Path,
) -> None:
    module(tmp_path, "value = 1")
    # pytest has a loader of its own, which has no sources.
    file = SourceFileLoader(NAME, str(tmp_path / f"{NAME}.py"))
    loader = _Loader(file, lambda _name: None)
    assert loader.get_source(NAME) == "value = 1"


def test_it_happens_once_and_before_the_importer_goes_on(
    finders: Sequence[object], tmp_path: Path
) -> None:
    module(tmp_path, "value = 1")
    seen: list[int] = []
    when_imported(lambda _name: seen.append(sys.modules[NAME].value), NAME)
    assert seen == []
    __import__(NAME)
    __import__(NAME)
    assert seen == [1]
    found = sys.modules[NAME]
    assert found.__loader__ is found.__spec__.loader  # type: ignore[union-attr]
    assert type(found.__loader__).__module__ != "snakepit_bridge.when_imported"
    assert sys.meta_path == finders


def test_it_happens_at_once_if_the_module_is_there(
    finders: Sequence[object], tmp_path: Path
) -> None:
    module(tmp_path, "value = 2")
    __import__(NAME)
    seen: list[int] = []
    when_imported(lambda _name: seen.append(sys.modules[NAME].value), NAME)
    assert seen == [2]
    assert sys.meta_path == finders


def test_an_import_that_fails_may_be_tried_again(
    finders: Sequence[object], tmp_path: Path
) -> None:
    module(tmp_path, "import sys\nif not hasattr(sys, 'again'): raise OSError")
    seen: list[int] = []
    when_imported(lambda _name: seen.append(1), NAME)
    with pytest.raises(OSError):
        __import__(NAME)
    with pytest.raises(ImportError):
        __import__("there_is_no_such_module")
    assert seen == []
    sys.again = True  # type: ignore[attr-defined]
    try:
        __import__(NAME)
    finally:
        del sys.again  # type: ignore[attr-defined]
    assert seen == [1]
    assert sys.meta_path == finders


def test_another_thread_gets_the_module_after_it_has_happened(
    finders: Sequence[object], tmp_path: Path
) -> None:
    module(tmp_path, "acted = False")
    begun, go_on = threading.Event(), threading.Event()
    seen: list[bool] = []

    def act(_name: str) -> None:
        begun.set()
        assert go_on.wait(30)
        sys.modules[NAME].acted = True  # type: ignore[attr-defined]

    def look() -> None:
        seen.append(__import__(NAME).acted)

    when_imported(act, NAME)
    threads = [threading.Thread(target=look) for _ in range(2)]
    threads[0].start()
    assert begun.wait(30)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert seen == [True, True]


LATE = """
    import sys
    from snakepit_bridge import current_call, tool

    was_there = "logging" in sys.modules

    @tool
    def imports() -> bool:
        import logging
        logging.getLogger("late").info("from within a call")
        return was_there

    @tool
    def configures(file: str) -> bool:
        import logging
        logging.basicConfig(filename=file, level=logging.DEBUG)
        logging.getLogger("late").debug("quiet")
        return was_there

    @tool
    def by_the_call() -> None:
        current_call().logger.warning("of the tool")
"""


@pytest.fixture
def transport() -> str:
    return "framed"


def test_logging_that_a_call_imports_forwards_its_first_record(start: Host) -> None:
    conversation = start(LATE).converse()
    call_id = conversation.begin("imports")
    conversation.terminal(call_id)
    log = conversation.logs.get_nowait()
    assert (log.message, log.call_id) == ("from within a call", call_id)
    assert conversation.call("imports") is False


def test_basic_config_in_the_call_that_imports_logging_works(
    start: Host, tmp_path: Path
) -> None:
    conversation = start(LATE).converse()
    file = tmp_path / "log"
    assert conversation.call("configures", [str(file)]) is False
    assert file.read_text() == "DEBUG:late:quiet\n"
    # What the host asked for is what it gets.
    assert conversation.logs.empty()


def test_the_logger_of_a_call_needs_no_import(start: Host) -> None:
    conversation = start(LATE).converse()
    conversation.call("by_the_call")
    log = conversation.logs.get_nowait()
    assert (log.logger, log.message) == ("tool.by_the_call", "of the tool")


def test_several_may_wait_for_the_same_module(
    finders: Sequence[object], tmp_path: Path
) -> None:
    # As a worker does that was forked from a parent which waited for it, too.
    module(tmp_path, "value = 1")
    seen: list[str] = []
    when_imported(lambda _name: seen.append("first"), NAME)
    when_imported(lambda _name: seen.append("second"), NAME, "another_of_a_test")
    __import__(NAME)
    assert seen == ["first", "second"]
    assert len(sys.meta_path) == len(finders) + 1
