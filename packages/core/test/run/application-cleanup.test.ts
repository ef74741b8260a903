import { expect, test } from "vitest";
import { outbox } from "../../src/outbox.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";
import {
	ApplicationCleanup,
	applicationCleanup,
} from "../../src/run/application-cleanup.ts";
import { ALL, CleanupBench } from "./application-cleanup-bench.ts";
import { FakeProcessEvents } from "./fake-process-events.ts";

test("handlers are installed once for all participants, and removed after the last one", () => {
	const { cleanup, events, ...bench } = new CleanupBench();
	expect(events.installed).toEqual({});
	const participant = { close: async () => {}, killNow: () => {} };
	const leave = cleanup.register(participant);
	const leaveToo = cleanup.register({ ...participant });
	expect(events.installed).toEqual(ALL);
	leave();
	leave();
	expect(events.installed).toEqual(ALL);
	leaveToo();
	expect(events.installed).toEqual({});
	expect(bench.calls).toEqual([]);
});

test("at the exit everybody is killed in that very turn, also when one throws", () => {
	const bench = new CleanupBench();
	bench.join("run");
	bench.cleanup.register({
		close: async () => {},
		killNow: () => {
			throw new Error("broken");
		},
		signalled: () => {
			throw new Error("broken");
		},
	});
	bench.join("pool");
	bench.events.happen("exit");
	expect(bench.calls).toEqual(["pool is killed", "run is killed"]);
});

test("an exit that a listener calls leaves no event untold, those included that report the exit", () => {
	const bench = new CleanupBench();
	const hub = new EventHub();
	const told: string[] = [];
	const emit = (sessionId: string) =>
		hub.emit({
			...{ type: "session.started", wallMs: 1 },
			...{ pool: "p", sessionId },
		});
	bench.cleanup.register({
		close: async () => {},
		killNow: () => emit("killed"),
	});
	hub.subscribeTo("session.started", ({ sessionId }) => {
		if (sessionId !== "first") return;
		bench.events.happen("exit");
		told.push("exited");
	});
	hub.subscribeTo("session.started", ({ sessionId }) => told.push(sessionId));
	outbox.during(() => {
		emit("first");
		emit("second");
	});
	expect(told).toEqual(["second", "killed", "exited", "first"]);
	emit("later");
	expect(told.at(-1)).toBe("later");
	expect(outbox.size).toBe(0);
});

test("when nothing is left to do everybody closes in order, once, and no handler is left", async () => {
	const bench = new CleanupBench();
	bench.join("pool");
	bench.cleanup.register({ close: async () => {}, killNow: () => {} });
	bench.events.happen("beforeExit");
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual(["pool closes within 2000", "pool flushes"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.events.endedBy).toEqual([]);
});

test("a first signal while it closes at its end does not force: it is raised when that is done", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("beforeExit");
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"pool closes within 2000",
		"pool receives SIGINT",
	]);
	closing.resolve();
	await bench.clock.advance(0);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
});

test("who takes part while others close at the end stays watched", async () => {
	const bench = new CleanupBench();
	bench.join("pool", async () => {
		bench.join("late");
	});
	bench.events.happen("beforeExit");
	await bench.clock.advance(0);
	expect(bench.events.installed).toEqual(ALL);
});

test("in another thread no signal arrives, and its exit still kills what is its own", () => {
	const bench = new CleanupBench(new FakeProcessEvents(false));
	bench.join("pool");
	expect(bench.events.installed).toEqual({ exit: 1, beforeExit: 1 });
	bench.events.happen("exit");
	expect(bench.calls).toEqual(["pool is killed"]);
});

test("two copies of the package share one, so that a signal is handled once", async () => {
	const copy = await import(
		`${new URL("../../src/run/application-cleanup.ts", import.meta.url)}?copy`
	);
	// Not before: while it is imported the runner itself may cease to listen.
	const before = process.listenerCount("SIGTERM");
	const participant = { close: async () => {}, killNow: () => {} };
	const leave = applicationCleanup.register(participant);
	const leaveToo = copy.applicationCleanup.register({ ...participant });
	expect(copy.ApplicationCleanup).not.toBe(ApplicationCleanup);
	expect(process.listenerCount("SIGTERM")).toBe(before + 1);
	leave();
	leaveToo();
	expect(process.listenerCount("SIGTERM")).toBe(before);
});
