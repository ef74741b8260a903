import { expect, test } from "vitest";
import type { CommandDescription } from "../../src/adapter.ts";
import { CallShapes } from "../../src/pool/observe/control-endpoint.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const { signal } = new AbortController();

function described(
	name: string,
	shape: CommandDescription["shape"],
): CommandDescription {
	return { name, description: "", argumentsSchema: {}, shape };
}

test("an adapter is asked about a command once, and not about what it has named", async () => {
	let asked = 0;
	const describe = async () => {
		asked++;
		return [described("one", "unary"), described("many", "stream")];
	};
	const clock = new VirtualClock();
	const shapes = new CallShapes({ describe }, clock);
	expect(await shapes.of("many", signal)).toBe("stream");
	expect(await shapes.of("one", signal)).toBe("unary");
	expect(asked).toBe(1);
	expect(await shapes.of("absent", signal)).toBeUndefined();
	// Nothing waits for an answer that is there.
	expect(clock.pending()).toBe(0);
	shapes.learn("many", "unary");
	expect(await shapes.of("many", signal)).toBe("unary");
});

test("an adapter that does not know, or fails, is not an obstacle", async () => {
	const clock = new VirtualClock();
	for (const describe of [
		async () => [described("one", undefined)],
		() => Promise.reject(new Error("no worker")),
	])
		expect(
			await new CallShapes({ describe }, clock).of("one", signal),
		).toBeUndefined();
	expect(await new CallShapes({}, clock).of("one", signal)).toBeUndefined();
});

test("a worker that does not answer is waited for 2 s at most", async () => {
	const clock = new VirtualClock();
	const describe = (signal: AbortSignal) =>
		new Promise<never>((_, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason));
		});
	const shape = new CallShapes({ describe }, clock).of("one", signal);
	await clock.advance(2_000);
	expect(await shape).toBeUndefined();
});
