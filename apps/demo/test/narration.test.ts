import { expect, test } from "vitest";
import { narrate } from "../src/narration.ts";
import { event, killed, ready, released } from "./events.ts";

test("what a person wants to know is said in a line", () => {
	expect(narrate(ready("digits-0", "r-1", 41))).toBe(
		"digits-0 is ready after 2.1 s, pid 41",
	);
	expect(narrate(killed("digits-2", "r-3", 43))).toBe(
		"digits-2 is gone, pid 43: SIGKILL, 1 call lost",
	);
	expect(
		narrate(
			event({
				type: "worker.output",
				workerId: "digits-1",
				incarnation: "r-2",
				stream: "stderr",
				line: "a warning",
				cut: false,
				callId: undefined,
			}),
		),
	).toBe("digits-1 | a warning");
});

test("the rest is kept quiet", () => {
	expect(narrate(released("digits-0", "r-1"))).toBeUndefined();
	expect(
		narrate({ ...killed("digits-0", "r-1", 41), reason: "closed" } as never),
	).toBeUndefined();
	const nothing = { deadRuns: 0, found: 0, killed: 0, spared: 0 };
	expect(
		narrate(
			event({
				type: "cleanup.finished",
				runId: "aaaaaaa" as never,
				durationMs: 1,
				...nothing,
			}),
		),
	).toBeUndefined();
});
