import { expect, test } from "vitest";
import { EndCause } from "../../src/worker/end-cause.ts";

test("a worker that nobody told to go has no reason", () => {
	const cause = new EndCause();
	expect([cause.reason, cause.verdict]).toEqual([undefined, ""]);
	expect(cause.conclude(false)).toBe("none");
	expect(cause.reason).toBeUndefined();
});

test("the first reason stays, whatever is presumed afterwards", () => {
	const cause = new EndCause();
	cause.presume("recycled");
	cause.presume("host_exit");
	expect(cause.reason).toBe("recycled");
});

test("a verdict counts over the reason of one that only drains", () => {
	const cause = new EndCause();
	cause.presume("recycled");
	expect(cause.condemn("draining", "hung", "it is silent")).toBe(true);
	expect([cause.reason, cause.verdict]).toEqual(["hung", "it is silent"]);
});

test("a verdict does not count for one that is being ended, nor at the exit of the host", () => {
	const stopping = new EndCause();
	stopping.condemn("ready", "stuck", "it does not come free");
	expect(stopping.condemn("stopping", "closed", "its pool is closed")).toBe(
		false,
	);
	expect([stopping.reason, stopping.verdict]).toEqual([
		"stuck",
		"it does not come free",
	]);
	const killed = new EndCause();
	killed.presume("host_exit");
	expect(killed.condemn("ready", "broken", "nothing answers")).toBe(false);
	expect([killed.reason, killed.verdict]).toEqual(["host_exit", ""]);
});

test("a conversation that broke is the reason only when the process had to be killed", () => {
	const died = new EndCause();
	died.condemn("ready", "broken", "the worker ended it");
	expect(died.conclude(false)).toBe("none");
	expect([died.reason, died.verdict]).toEqual(["exited", ""]);
	const killed = new EndCause();
	killed.condemn("ready", "broken", "the worker ended it");
	expect(killed.conclude(true)).toBe("stop_ladder");
	expect([killed.reason, killed.verdict]).toEqual([
		"broken",
		"the worker ended it",
	]);
});

test("who killed it outside the stop ladder is who ended it", () => {
	const cause = new EndCause();
	cause.presume("host_exit");
	cause.killedBy("application_cleanup");
	expect(cause.conclude(true)).toBe("application_cleanup");
});

test("one that ends while it drains has ended by itself, but for the exit of the host", () => {
	const surprised = new EndCause();
	surprised.presume("recycled");
	surprised.surprise();
	expect(surprised.reason).toBe("exited");
	const killed = new EndCause();
	killed.presume("host_exit");
	killed.surprise();
	expect(killed.reason).toBe("host_exit");
});
