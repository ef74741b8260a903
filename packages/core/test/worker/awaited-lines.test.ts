import { expect, test } from "vitest";
import { AwaitedLines } from "../../src/worker/worker-output.ts";

const never = new AbortController().signal;

test("the first line that fits, of the output that is named, with its groups", async () => {
	const lines = new AwaitedLines();
	const port = lines.next(/listening on (\d+)/, "stderr", never);
	lines.printed("stdout", "listening on 1");
	lines.printed("stderr", "starting");
	lines.printed("stderr", "listening on 2");
	lines.printed("stderr", "listening on 3");
	expect((await port)[1]).toBe("2");
});

test("a line of the start counts before somebody waits for it, and after the start it does not", async () => {
	const lines = new AwaitedLines();
	lines.printed("stdout", "ready 1");
	// A global expression looks from the beginning each time.
	const global = /ready (\d)/g;
	global.lastIndex = 5;
	expect((await lines.next(global, "stdout", never))[1]).toBe("1");
	lines.started();
	const later = lines.next(/ready (\d)/, "stdout", never);
	lines.printed("stdout", "ready 2");
	expect((await later)[1]).toBe("2");
});

test("it rejects when the output ends, before or after, and when the signal aborts", async () => {
	const lines = new AwaitedLines();
	const controller = new AbortController();
	const pending = [
		lines.next(/a/, "stdout", never),
		lines.next(/b/, "stderr", controller.signal),
	].map((promise) => promise.catch((error: Error) => error.message));
	lines.ended("stdout");
	controller.abort(new Error("the start took too long"));
	expect(await Promise.all(pending)).toEqual([
		"its stdout ended before a line that matches /a/",
		"the start took too long",
	]);
	await expect(lines.next(/c/, "stdout", never)).rejects.toThrow(/ended/);
	await expect(
		lines.next(/d/, "stderr", AbortSignal.abort(new Error("late"))),
	).rejects.toThrow("late");
});

test("of a start with many lines the first 200 are kept", async () => {
	const lines = new AwaitedLines();
	for (let line = 0; line < 1_000; line++)
		lines.printed("stderr", `line ${line}.`);
	expect((await lines.next(/line 199\./, "stderr", never)).index).toBe(0);
	const tooLate = lines.next(/line 200\./, "stderr", never);
	lines.ended("stderr");
	await expect(tooLate).rejects.toThrow("ended");
});
