import { expect, test } from "vitest";
import type { ProcessExit } from "../../src/contract/identity.ts";
import { EndCause } from "../../src/worker/end-cause.ts";

const code: ProcessExit = { kind: "code", code: 0 };
const killed: ProcessExit = { kind: "signal", signal: "SIGKILL" };

test("a worker that was never asked to end has no reason", () => {
	const cause = new EndCause();
	expect([cause.reason, cause.verdict]).toEqual([undefined, ""]);
	expect(cause.conclude(code)).toBe("none");
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
	stopping.condemn("ready", "stuck", "it does not finish");
	expect(stopping.condemn("stopping", "closed", "its pool is closed")).toBe(
		false,
	);
	expect([stopping.reason, stopping.verdict]).toEqual([
		"stuck",
		"it does not finish",
	]);
	const dying = new EndCause();
	dying.presume("host_exit");
	expect(dying.condemn("ready", "broken", "nothing answers")).toBe(false);
	expect([dying.reason, dying.verdict]).toEqual(["host_exit", ""]);
});

test("a conversation that broke is the reason only when this program had to kill the process", () => {
	const broken = (): EndCause => {
		const cause = new EndCause();
		cause.condemn("ready", "broken", "the worker ended it");
		return cause;
	};
	for (const [exit, killer] of [
		[code, "none"],
		[killed, "unknown"],
	] as const) {
		const died = broken();
		expect(died.conclude(exit)).toBe(killer);
		expect([died.reason, died.verdict]).toEqual(["exited", ""]);
	}
	const ended = broken();
	ended.signalled("SIGKILL", "stop_ladder");
	expect(ended.conclude(killed)).toBe("stop_ladder");
	expect([ended.reason, ended.verdict]).toEqual([
		"broken",
		"the worker ended it",
	]);
});

test("one that ends while it drains has ended by itself, but for the exit of the host", () => {
	const surprised = new EndCause();
	surprised.presume("recycled");
	surprised.exitedIn("draining");
	expect(surprised.reason).toBe("exited");
	const dying = new EndCause();
	dying.presume("host_exit");
	dying.exitedIn("draining");
	expect(dying.reason).toBe("host_exit");
});

test("one that ends in its start, and of which nothing else was decided, has failed to start", () => {
	const failed = new EndCause();
	failed.exitedIn("starting");
	expect(failed.reason).toBe("start_failed");
	const closed = new EndCause();
	closed.presume("closed");
	closed.exitedIn("starting");
	closed.exitedIn("stopping");
	expect(closed.reason).toBe("closed");
});
