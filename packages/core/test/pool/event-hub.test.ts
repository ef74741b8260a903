import { expect, test } from "vitest";
import type { SnakepitEvent } from "../../src/events.ts";
import { EventHub } from "../../src/pool/event-hub.ts";

const event: SnakepitEvent = {
	type: "session.started",
	wallMs: 1,
	pool: "p",
	sessionId: "s",
};

test("a listener that throws hurts neither the pool nor the others, and they hear of it", () => {
	const hub = new EventHub();
	const heard: string[] = [];
	hub.subscribe(() => {
		throw new Error("mine");
	});
	hub.subscribe(({ type }) => heard.push(type));
	hub.emit(event);
	expect(heard).toEqual(["listener.threw", "session.started"]);
});

test("a listener of one type hears that type only, until it ends its subscription", () => {
	const hub = new EventHub();
	const heard: string[] = [];
	const end = hub.subscribeTo("session.started", ({ sessionId }) =>
		heard.push(sessionId),
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
	expect(heard).toEqual(["s"]);
});
