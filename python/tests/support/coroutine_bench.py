"""A worker's parts that calls of coroutines need, with a loop of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from snakepit_bridge import tool
from snakepit_bridge.bridge.frame_codec import packed_name
from snakepit_bridge.calls.run.tasks import TaskCall, Tasks
from snakepit_bridge.values.encode import encode
from support.call_bench import Bench

SEEN: ContextVar[int] = ContextVar("seen_by_coroutines", default=0)


class CoroutineBench(Bench):
    """Runs one call at a time, or all at once.

    Attributes:
        tool: what each call runs, with its number.
        tasks: those that had a call, by its number. Nothing here refers to one.
    """

    def __init__(self, path: Path, *, one_at_a_time: bool = True) -> None:
        super().__init__(path)
        self.loop = asyncio.new_event_loop()
        self.tool: Callable[[int], Awaitable[Any]] = self.returns
        self.tasks: dict[int, str] = {}
        self.ended = 0
        if not one_at_a_time:
            self.table.page = None
        main: Any = SimpleNamespace(
            loop=self.loop, coalescer=self.coalescer, submit_to_loop=self._in_loop
        )
        ended = self._run_ended if one_at_a_time else None
        table: Any = self.table
        self.coroutines = Tasks(
            main, copy_context(), table, self.waiting, ended, lambda: self.now_ns
        )
        self.outbox.held = True

    def functions(self) -> dict[str, Any]:
        @tool
        async def runs(number: int) -> Any:
            task: Any = asyncio.current_task()
            # The name belongs to the task, however many calls ran in it.
            self.tasks[number] = task.get_name()
            del task
            return await self.tool(number)

        runs.__module__ = "tools"
        return {"runs": runs}

    async def returns(self, number: int) -> int:
        return number

    def begin(self, *numbers: int) -> list[Any]:
        """Adds calls."""
        sink: Any = self.table
        tool_ = self.tools[packed_name("runs")][0]
        calls = []
        for number in numbers:
            call: Any = TaskCall.of(number, tool_, encode([number]), sink)
            self.table.running[number] = call
            self.waiting.append(call)
            calls.append(call)
        return calls

    def turn(self, times: int = 1) -> None:
        """Runs the loop for so many turns."""
        for _ in range(times):
            self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()

    def run_all(self, *numbers: int) -> None:
        """Runs calls until all are over."""
        self.begin(*numbers)
        self.coroutines.start()
        while self.table.running:
            self.turn()

    def close(self) -> None:
        self.outbox.send_added()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.turn(3)
        self.loop.close()

    def _in_loop(self, callback: Callable[[], None]) -> None:
        if self.loop.get_task_factory() is None:
            callback()
        else:
            self.loop.call_soon(callback)

    def _run_ended(self) -> None:
        self.ended += 1
        if self.waiting and self.waiting[0].tool.is_async:
            self.coroutines.start()
