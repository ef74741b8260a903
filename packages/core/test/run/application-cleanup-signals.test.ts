import { describe, expect, test } from "vitest";
import { ALL, CleanupBench, never } from "./application-cleanup-bench.ts";

test("after the first signal everybody closes, newest first, and the signal is raised again without a handler", async () => {
	const bench = new CleanupBench();
	bench.join("run");
	bench.join("pool");
	bench.events.happen("SIGTERM");
	expect(bench.kept).toBe(1);
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"pool receives SIGTERM",
		"run receives SIGTERM",
		"pool closes within 2000",
		"run closes within 2000",
		"pool flushes",
		"run flushes",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
	expect(bench.kept).toBe(0);
});

test("a pool that is made while the others close is killed before the signal is raised, and so is its run", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.cleanup.register({
		close: async () => {},
		killNow: () => void bench.calls.push("run is killed"),
	});
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGTERM");
	bench.join("late");
	closing.resolve();
	await bench.clock.advance(0);
	expect(bench.calls.slice(-3)).toEqual([
		"late is killed",
		"pool is killed",
		"run is killed",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	expect(bench.events.installed).toEqual({});
});

test("who does not close in time is killed, and the signal is raised all the same", async () => {
	const bench = new CleanupBench();
	bench.join("pool", never);
	bench.events.happen("SIGINT");
	await bench.clock.advance(2_499);
	expect(bench.calls).not.toContain("pool is killed");
	await bench.clock.advance(1);
	expect(bench.calls).toContain("pool is killed");
	expect(bench.events.endedBy).toEqual([]);
	await bench.clock.advance(500);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
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
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
	leave();
});

test("the second signal kills everybody at once and is raised, whichever it is; the first close has no say any more", async () => {
	const bench = new CleanupBench();
	const closing = Promise.withResolvers<void>();
	bench.join("pool", () => closing.promise);
	bench.events.happen("SIGINT");
	bench.events.happen("SIGTERM");
	expect(bench.calls.slice(-2)).toEqual([
		"pool receives SIGTERM again",
		"pool is killed",
	]);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	closing.resolve();
	await bench.clock.advance(5_000);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
});

describe("a program that listens to the signal itself", () => {
	test("keeps its pools open for the grace; then everybody closes and it ends by the signal, with a warning", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("run");
		bench.join("pool");
		bench.events.happen("SIGTERM");
		await bench.clock.advance(4_999);
		expect(bench.calls).toEqual([
			"pool receives SIGTERM",
			"run receives SIGTERM",
		]);
		expect(bench.kept).toBe(0);
		expect(bench.events.warnings).toEqual([]);
		await bench.clock.advance(1);
		expect(bench.calls.slice(2)).toEqual([
			"pool sees 5000 spent after SIGTERM by 1",
			"run sees 5000 spent after SIGTERM by 1",
			"pool closes within 2000",
			"run closes within 2000",
			"pool flushes",
			"run flushes",
		]);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
		expect(bench.events.warnings).toEqual([
			expect.stringMatching(
				/^SIGTERM came 5 s ago .*listeners now: 1.*"ignore"/,
			),
		]);
	});

	test("even once, has the same grace; a second signal without a listener kills at once", async () => {
		const bench = new CleanupBench();
		bench.events.listenOnce("SIGTERM");
		bench.join("pool", never);
		bench.events.happen("SIGTERM");
		await bench.clock.advance(4_000);
		expect(bench.calls).toEqual(["pool receives SIGTERM"]);
		bench.events.happen("SIGTERM");
		expect(bench.calls.at(-1)).toBe("pool is killed");
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
		await bench.clock.advance(60_000);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test("receives a second signal too before that ends it: an exit code of its own goes first", async () => {
		const bench = new CleanupBench();
		const endedBy: unknown[] = [];
		bench.events.listen("SIGINT", () => {
			endedBy.push(...bench.events.endedBy, "its listener");
		});
		bench.join("pool", never);
		bench.events.happen("SIGINT");
		await bench.clock.advance(500);
		bench.events.happen("SIGINT");
		expect(bench.calls.at(-1)).toBe("pool is killed");
		await bench.clock.advance(0);
		expect([...endedBy, ...bench.events.endedBy]).toEqual([
			"its listener",
			"its listener",
			"SIGINT",
		]);
	});

	test("gets the same signal twice from a terminal and npm: within half a second that is one", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGINT", () => {});
		bench.join("pool");
		bench.events.happen("SIGINT");
		await bench.clock.advance(499);
		bench.events.happen("SIGINT");
		await bench.clock.advance(0);
		expect(bench.calls).toEqual(["pool receives SIGINT"]);
		bench.events.happen("SIGTERM");
		expect(bench.calls.slice(1)).toEqual([
			"pool receives SIGTERM again",
			"pool is killed",
		]);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test("that closes its pools within the grace is left alone", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		const leave = bench.join("pool");
		bench.events.happen("SIGTERM");
		leave();
		expect(bench.events.installed).toEqual({ SIGTERM: 1 });
		bench.join("a later pool");
		await bench.clock.advance(60_000);
		expect(bench.calls).toEqual(["pool receives SIGTERM"]);
		expect(bench.events.endedBy).toEqual([]);
	});

	test("that has nothing left to do within the grace ends in order", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("pool");
		bench.events.happen("SIGTERM");
		bench.events.happen("beforeExit");
		await bench.clock.advance(60_000);
		expect(bench.calls).toEqual([
			"pool receives SIGTERM",
			"pool closes within 2000",
			"pool flushes",
		]);
		expect(bench.events.endedBy).toEqual([]);
	});

	test("has the longest grace of its pools", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGTERM", () => {});
		bench.join("long", undefined, { onSignal: "end", graceMs: 9_000 });
		bench.join("short");
		bench.events.happen("SIGTERM");
		await bench.clock.advance(8_999);
		expect(bench.events.endedBy).toEqual([]);
		await bench.clock.advance(1);
		expect(bench.events.endedBy).toEqual(["SIGTERM"]);
	});

	test.each(["before the signal", "within the grace"])(
		'is left alone with all its pools when one says "ignore" (%s)',
		async (when) => {
			const bench = new CleanupBench();
			bench.events.listen("SIGTERM", () => {});
			const joinMine = () =>
				bench.join("mine", never, { onSignal: "ignore", graceMs: 5_000 });
			bench.join("pool");
			if (when === "before the signal") joinMine();
			bench.events.happen("SIGTERM");
			if (when === "within the grace") joinMine();
			await bench.clock.advance(60_000);
			bench.events.happen("SIGTERM");
			await bench.clock.advance(60_000);
			expect(
				bench.calls.filter((each) => !/receives SIGTERM$/.test(each)),
			).toEqual([]);
			expect(bench.events.installed).toEqual({ ...ALL, SIGTERM: 2 });
			bench.events.happen("exit");
			expect(bench.calls.slice(-2)).toEqual([
				expect.stringMatching(/is killed$/),
				expect.stringMatching(/is killed$/),
			]);
		},
	);

	test("to read its configuration again at SIGHUP is left alone", async () => {
		const bench = new CleanupBench();
		bench.events.listen("SIGHUP", () => {});
		bench.join("pool");
		bench.events.happen("SIGHUP");
		bench.events.happen("SIGHUP");
		await bench.clock.advance(60_000);
		expect(bench.calls).toEqual([
			"pool receives SIGHUP",
			"pool receives SIGHUP",
		]);
	});
});

test("what takes a second to be sent is sent; what takes longer is not waited for", async () => {
	const bench = new CleanupBench();
	bench.join("pool", undefined, undefined, never);
	bench.events.happen("SIGTERM");
	await bench.clock.advance(999);
	expect(bench.events.endedBy).toEqual([]);
	await bench.clock.advance(1);
	expect(bench.events.endedBy).toEqual(["SIGTERM"]);
});

test('a pool that says "ignore" closes when the program does not listen', async () => {
	const bench = new CleanupBench();
	bench.join("mine", undefined, { onSignal: "ignore", graceMs: 5_000 });
	bench.events.happen("SIGINT");
	await bench.clock.advance(0);
	expect(bench.calls).toEqual([
		"mine receives SIGINT",
		"mine closes within 2000",
		"mine flushes",
	]);
	expect(bench.events.endedBy).toEqual(["SIGINT"]);
});

test("neither a close that fails, now or later, nor a listener that throws prevents the others from closing", async () => {
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
	expect(bench.calls).toContain("run closes within 2000");
	expect(bench.events.endedBy).toEqual(["SIGHUP"]);
});
