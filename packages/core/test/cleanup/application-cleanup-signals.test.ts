import { expect, test } from "vitest";
import { ALL, CleanupBench, never } from "./application-cleanup-bench.ts";

test("after the first signal everybody closes, newest first, and the signal is raised again without a handler", async () => {
	const bench = new CleanupBench();
	bench.join("run");
	bench.join("pool");
	bench.events.happen("SIGTERM");
	expect(bench.kept).toBe(1);
	await bench.clock.advance(0);
	expect(bench.told).toEqual([
		"pool hears SIGTERM",
		"run hears SIGTERM",
		"pool closes within 2000",
		"run closes within 2000",
	]);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.kept).toBe(0);
});

test("who does not close in time is killed, and the signal is raised all the same", async () => {
	const bench = new CleanupBench();
	bench.join("pool", never);
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_499);
	expect(bench.told).not.toContain("pool is killed");
	await bench.clock.advance(1);
	expect(bench.told).toContain("pool is killed");
	expect(bench.events.raised).toEqual([]);
	await bench.clock.advance(500);
	expect(bench.events.raised).toEqual(["SIGINT"]);
});

test("who closes because it was killed is not waited for longer", async () => {
	const bench = new CleanupBench();
	const done = Promise.withResolvers<void>();
	const leave = bench.cleanup.register({
		close: () => done.promise,
		killNow: () => done.resolve(),
	});
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_500);
	expect(bench.events.raised).toEqual(["SIGINT"]);
	leave();
});

test("the second signal kills everybody at once and is raised, whichever it is; the first close has no say any more", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGINT");
	bench.events.happen("SIGTERM");
	expect(bench.told.slice(-2)).toEqual([
		"pool hears SIGTERM again",
		"pool is killed",
	]);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
	closing.resolve();
	await bench.clock.advance(5_000);
	expect(bench.events.raised).toEqual(["SIGTERM"]);
});

test("a program that listens to the signal itself is not ended, and what takes part later is watched", async () => {
	const bench = new CleanupBench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("pool", async () => {
		bench.join("late", never);
	});
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	expect(bench.events.raised).toEqual([]);
	expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
});

test("a program that listens once goes on as well; a second signal that nobody listens to is what it dies of", async () => {
	const bench = new CleanupBench();
	bench.events.listenOnce("SIGTERM");
	bench.join("pool", never);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	expect(bench.events.raised).toEqual([]);
	bench.events.happen("SIGTERM");
	expect(bench.told.at(-1)).toBe("pool is killed");
	expect(bench.events.raised).toEqual(["SIGTERM"]);
});

test("whoever is left to a program that listens is not closed, hears the signal, and is watched further", async () => {
	const bench = new CleanupBench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("mine", never, { onSignal: "left_to_program" });
	bench.join("pool");
	bench.events.happen("SIGTERM");
	await bench.clock.advance(0);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(10_000);
	expect(bench.told).toEqual([
		"pool hears SIGTERM",
		"mine hears SIGTERM",
		"pool closes within 2000",
		"mine hears SIGTERM",
	]);
	expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
	bench.events.happen("exit");
	expect(bench.told.at(-1)).toBe("mine is killed");
});

test("a second signal spares whoever is left to a program that listens", async () => {
	const bench = new CleanupBench();
	bench.events.listen("SIGTERM", () => {});
	bench.join("mine", never, { onSignal: "left_to_program" });
	bench.join("pool", never);
	bench.events.happen("SIGTERM");
	bench.events.happen("SIGTERM");
	expect(bench.told.filter((each) => each.endsWith("killed"))).toEqual([
		"pool is killed",
	]);
});

test("whoever is left to the program is closed when that does not listen", async () => {
	const bench = new CleanupBench();
	bench.join("mine", undefined, { onSignal: "left_to_program" });
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.told).toEqual(["mine hears SIGINT", "mine closes within 2000"]);
	expect(bench.events.raised).toEqual(["SIGINT"]);
});

test("a close that fails, now or later, and a listener that throws keep nobody from closing", async () => {
	const bench = new CleanupBench();
	bench.join("run");
	for (const close of [
		() => {
			throw new Error("broken");
		},
		() => Promise.reject(new Error("broken")),
	])
		bench.cleanup.register({
			close,
			killNow: () => {},
			signalled: () => {
				throw new Error("broken");
			},
		});
	bench.events.happen("SIGHUP");
	await bench.clock.advance(0);
	expect(bench.told).toContain("run closes within 2000");
	expect(bench.events.raised).toEqual(["SIGHUP"]);
});
