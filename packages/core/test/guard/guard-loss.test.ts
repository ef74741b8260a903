import { expect, test } from "vitest";
import { describeLoss } from "../../src/guard/guard-chain.ts";

test.each([
	[65, "one of its inner processes failed, or did not answer in time"],
	[
		67,
		"its inner process, which forks the workers, was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	],
	[
		68,
		"its middle process was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	],
	[70, "its outer process failed"],
	[3, "its outer process ended with status 3"],
])("status %i of the outer guard says what was lost", (code, text) => {
	expect(describeLoss({ kind: "code", code })).toBe(text);
});

test("the report of a guard that a signal ended names the signal and its possible senders", () => {
	expect(describeLoss({ kind: "signal", signal: "SIGKILL" })).toBe(
		"its outer process was killed by SIGKILL from a person, another program, or the kernel when memory ran out (dmesg shows that)",
	);
});
