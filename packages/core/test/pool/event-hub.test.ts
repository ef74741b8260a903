import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import { checkEventType } from "../../src/options/event-types.ts";
import { outbox } from "../../src/outbox.ts";
import { EventHub } from "../../src/pool/observe/event-hub.ts";

const event: SnakepitEvent = {
	type: "session.started",
	wallMs: 1,
	pool: "p",
	sessionId: "s",
};

test("a listener that throws affects neither the pool nor other listeners, which are notified of it", () => {
	const hub = new EventHub();
	const received: string[] = [];
	hub.subscribe(() => {
		throw new Error("mine");
	});
	hub.subscribe(({ type }) => received.push(type));
	hub.emit(event);
	expect(received).toEqual(["session.started", "listener.threw"]);
});

test("an event of a transition waits for its end, and the events of a listener follow those that wait", () => {
	const hub = new EventHub();
	const received: string[] = [];
	const emit = (sessionId: string) => hub.emit({ ...event, sessionId });
	hub.subscribeTo("session.started", ({ sessionId }) => {
		received.push(`first ${sessionId}`);
		if (sessionId === "a")
			outbox.during(() => {
				emit("c");
				received.push("acted");
			});
	});
	hub.subscribeTo("session.started", ({ sessionId }) =>
		received.push(`second ${sessionId}`),
	);
	outbox.during(() => {
		outbox.during(() => emit("a"));
		emit("b");
		received.push("complete");
	});
	expect(received).toEqual([
		"complete",
		...["first a", "acted", "second a"],
		...["first b", "second b", "first c", "second c"],
	]);
});

test("the events of a transition that throws leave all the same, and it throws on", () => {
	const hub = new EventHub();
	const received: string[] = [];
	hub.subscribe(({ type }) => received.push(type));
	expect(() =>
		outbox.during(() => {
			hub.emit(event);
			throw new Error("mine");
		}),
	).toThrow("mine");
	expect(received).toEqual(["session.started"]);
	hub.emit(event);
	expect(received).toHaveLength(2);
});

test("what records events has them in the moment in which they happen, and only those of its types", () => {
	const hub = new EventHub();
	const received: string[] = [];
	hub.subscribe(({ type }) => received.push(type));
	hub.recordWith(
		({ type }) => received.push(`${type} recorded`),
		["session.started"],
	);
	hub.recordWith(() => received.push("never"), ["session.ended"]);
	outbox.during(() => {
		hub.emit(event);
		received.push("complete");
	});
	expect(received).toEqual([
		"session.started recorded",
		"complete",
		"session.started",
	]);
});

test("a listener of one type receives that type only, until it ends its subscription", () => {
	const hub = new EventHub();
	const received: string[] = [];
	const end = hub.subscribeTo("session.started", ({ sessionId }) =>
		received.push(sessionId),
	);
	hub.emit(event);
	hub.emit({
		type: "session.ended",
		wallMs: 2,
		pool: "p",
		sessionId: "s",
		reason: "closed",
	});
	end();
	hub.emit(event);
	expect(received).toEqual(["s"]);
});

test("an event that does not exist is refused, with the nearest name", () => {
	expect(() => checkEventType("pool.on", "worker.redy")).toThrow(
		expect.objectContaining({
			name: "OptionsError",
			code: "UNKNOWN_EVENT",
			ran: "no",
			message:
				'pool.on: there is no event "worker.redy". Did you mean "worker.ready"?',
		}),
	);
	expect(() => checkEventType("pool.on", "toString")).toThrow(/lists all/);
	expect(() => checkEventType("pool.on", "worker.frobnicated")).toThrow(
		/Those that begin alike are worker\.\w+, .*worker\.exited, /,
	);
	checkEventType("pool.on", "worker.ready");
});

test("a meter has every call that ends counted, and the event is made if it or a listener wants it", () => {
	const hub = new EventHub();
	const counted: string[] = [];
	const meter = (_pool: string, command: string, outcome: string): boolean => {
		counted.push(command);
		return outcome === "failed";
	};
	const wants = (outcome: string) => hub.wantsEnd("p", "echo", outcome, 1);
	const end = hub.subscribe(() => {}, ["call.settled"], meter);
	expect(hub.hasListener("call.settled")).toBe(false);
	expect([wants("succeeded"), wants("failed")]).toEqual([false, true]);
	const other = hub.subscribeTo("call.settled", () => {});
	expect(wants("succeeded")).toBe(true);
	expect(counted).toHaveLength(3);
	end();
	other();
	expect(wants("failed")).toBe(false);
	expect(counted).toHaveLength(3);
});
