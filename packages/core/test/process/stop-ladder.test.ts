import { describe, expect, test } from "vitest";
import { StopLadder, type StopStep } from "../../src/process/stop-ladder.ts";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { mannerOf } from "../../src/worker/worker.ts";
import {
	KILL_AFTER_MS,
	ladderScene,
	leaves,
	PLAN,
	stays,
} from "./ladder-scene.ts";

describe("gently", () => {
	test("a worker that leaves when asked gets no signal", async () => {
		const { climb, rungs, process } = await ladderScene({ leave: leaves });
		expect(await climb()).toEqual({ gone: true, tookMs: 0 });
		expect(rungs()).toEqual(["leave 0"]);
		expect(process.received).toEqual([]);
	});

	test("one that does not leave gets SIGTERM after half of the time", async () => {
		const { climb, rungs, process } = await ladderScene({ leave: stays });
		expect(await climb()).toEqual({
			gone: true,
			tookMs: KILL_AFTER_MS / 2,
		});
		expect(rungs()).toEqual(["leave 0", "terminate 1"]);
		expect(process.received).toEqual(["SIGTERM"]);
	});

	test("one that ignores SIGTERM too is killed when the whole time has passed", async () => {
		const { climb, rungs, process } = await ladderScene({
			leave: stays,
			program: (self) => self.ignore("SIGTERM").idle(),
		});
		expect(await climb()).toEqual({
			gone: true,
			tookMs: KILL_AFTER_MS,
		});
		expect(rungs()).toEqual(["leave 0", "terminate 1", "kill 1"]);
		expect(process.received).toEqual(["SIGTERM", "SIGKILL"]);
	});

	test("one that cannot be asked has the whole time for SIGTERM", async () => {
		const { climb, rungs } = await ladderScene({
			program: (self) => self.ignore("SIGTERM").idle(),
		});
		expect(await climb()).toMatchObject({ tookMs: KILL_AFTER_MS });
		expect(rungs()).toEqual(["terminate 1", "kill 1"]);
	});

	test("one whose conversation is broken gets SIGTERM at once, and the rest of the time", async () => {
		for (const leave of [
			async () => {
				throw new Error("nobody there");
			},
			() => {
				throw new Error("nobody there, in the same turn");
			},
		]) {
			const quick = await ladderScene({ leave });
			expect(await quick.climb()).toMatchObject({ tookMs: 0 });
			expect(quick.rungs()).toEqual(["leave 0", "terminate 1"]);
			const slow = await ladderScene({
				leave,
				program: (self) => self.ignore("SIGTERM").idle(),
			});
			expect(await slow.climb()).toMatchObject({ tookMs: KILL_AFTER_MS });
		}
	});

	test("one that announced its leave has its half of the time to do so", async () => {
		const { climb, rungs } = await ladderScene({
			leave: async (process) => {
				void process.sleep(400).then(() => process.exit(0));
			},
		});
		expect(await climb()).toEqual({
			gone: true,
			tookMs: 400,
		});
		expect(rungs()).toEqual(["leave 0"]);
	});

	test("one that ends in its own time after SIGTERM is not killed", async () => {
		const { climb, rungs } = await ladderScene({
			program: (self) =>
				self
					.on("SIGTERM", () => void self.sleep(900).then(() => self.exit(0)))
					.idle(),
		});
		expect(await climb()).toMatchObject({ tookMs: 900 });
		expect(rungs()).toEqual(["terminate 1"]);
	});

	test("a worker that was asked to leave is notified when the time for it has passed", async () => {
		const asked: AbortSignal[] = [];
		const { climb } = await ladderScene({
			leave: async (_process, signal) => {
				asked.push(signal);
				await stays();
			},
		});
		await climb();
		expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
	});

	test("one that is gone already is asked nothing more, and no signal is claimed", async () => {
		const { climb, rungs, process, sent } = await ladderScene();
		process.exit(0);
		expect(await climb()).toMatchObject({ gone: true });
		expect(rungs()).toEqual(["terminate 0"]);
		expect(sent).toEqual([]);
	});
});

test("a worker that is about to end has half of the time before it is sent a signal", async () => {
	const stubborn = await ladderScene({
		program: (self) => self.ignore("SIGTERM").idle(),
	});
	expect(await stubborn.climb("ending")).toMatchObject({
		gone: true,
		tookMs: KILL_AFTER_MS,
	});
	expect(stubborn.process.received).toEqual(["SIGTERM", "SIGKILL"]);
	const ending = await ladderScene({
		program: (self) => self.sleep(KILL_AFTER_MS / 2 - 1),
	});
	await ending.climb("ending");
	expect(ending.process.received).toEqual([]);
});

describe("by force", () => {
	test("only a hung worker is made to write its stacks", async () => {
		for (const manner of ["forced", "waiting"] as const) {
			const { climb, process } = await ladderScene({ dumpSignal: "SIGUSR1" });
			await climb(manner);
			expect(process.received).toEqual(["SIGKILL"]);
		}
	});

	test("a worker is killed in the very turn in which its stop begins", async () => {
		const { ladder, target, process, rungs } = await ladderScene({
			leave: leaves,
		});
		void ladder.climb(target, "forced");
		expect(process.alive).toBe(false);
		expect(rungs()).toEqual(["kill 1"]);
	});

	test("a hung one writes its stacks first, and is killed a quarter of a second later", async () => {
		const { climb, process, rungs } = await ladderScene({
			dumpSignal: "SIGUSR1",
			program: (self) => self.ignore("SIGUSR1").idle(),
		});
		expect(await climb("dumped")).toMatchObject({ gone: true, tookMs: 250 });
		expect(process.received).toEqual(["SIGUSR1", "SIGKILL"]);
		expect(rungs()).toEqual(["kill 1"]);
	});

	test("a hung one that dies of writing its stacks is not waited for", async () => {
		const { climb } = await ladderScene({ dumpSignal: "SIGUSR1" });
		expect(await climb("dumped")).toMatchObject({ gone: true, tookMs: 0 });
	});

	test("one whose conversation broke may be dying: it is killed a tenth of a second later, unless it was", async () => {
		const alive = await ladderScene();
		expect(await alive.climb("waiting")).toEqual({
			gone: true,
			tookMs: 100,
		});
		expect(alive.rungs()).toEqual(["kill 1"]);
		const dying = await ladderScene({ program: (self) => self.sleep(99) });
		expect(await dying.climb("waiting")).toEqual({
			gone: true,
			tookMs: 99,
		});
		expect(dying.rungs()).toEqual([]);
	});

	test.each([
		["hung", "dumped"],
		["broken", "waiting"],
		["stuck", "forced"],
		["closed", "forced"],
		[undefined, "forced"],
	] as const)("is what a reason asks for: %s is %s", (reason, manner) => {
		expect(mannerOf(reason)).toBe(manner);
	});

	test("a hung one that cannot write its stacks is killed at once", async () => {
		const { climb, process } = await ladderScene();
		expect(await climb("dumped")).toMatchObject({ tookMs: 0 });
		expect(process.received).toEqual(["SIGKILL"]);
	});

	test("one that not even SIGKILL ends is given up after five seconds, and that is reported", async () => {
		const { climb, process } = await ladderScene();
		process.killable = false;
		expect(await climb("forced")).toEqual({
			gone: false,
			tookMs: 5_000,
		});
	});
});

describe("in a hurry", () => {
	const stubborn: FakeProgram = (self) => self.ignore("SIGTERM").idle();

	test.each([
		["leaving", 100, ["leave 0", "kill 1"]],
		["ending by SIGTERM", 700, ["leave 0", "terminate 1", "kill 1"]],
	])(
		"a worker that is %s is killed at once, and that is a rung too",
		async (_what, afterMs, rungs) => {
			const bench = await ladderScene({ leave: stays, program: stubborn });
			const climbed = bench.ladder.climb(bench.target, "gentle");
			await bench.clock.advance(afterMs);
			expect(bench.process.alive).toBe(true);
			const hurried = bench.ladder.climb(bench.target, "forced");
			await bench.clock.settle();
			expect(await Promise.all([climbed, hurried])).toEqual([
				{ gone: true },
				{ gone: true },
			]);
			expect(bench.rungs()).toEqual(rungs);
			expect(bench.clock.pending()).toBe(0);
		},
	);

	test("a worker that writes its stacks is killed at once", async () => {
		const { ladder, target, clock, process } = await ladderScene({
			dumpSignal: "SIGUSR1",
			program: (self) => self.ignore("SIGUSR1").idle(),
		});
		void ladder.climb(target, "dumped");
		await clock.settle();
		void ladder.climb(target, "dumped");
		await clock.settle();
		expect(process.alive).toBe(false);
	});

	test.each(["leave", "terminate"])(
		"a listener of %s that orders the end hurries the same ladder",
		async (rung) => {
			const bench = await ladderScene({
				program: stubborn,
				...(rung === "leave" && { leave: stays }),
			});
			const { world, clock } = bench;
			const steps: StopStep[] = [];
			const ladder = new StopLadder(PLAN, world, {
				...bench.listener,
				stepped: (step) => {
					steps.push(step);
					if (step === rung) void ladder.climb(bench.target, "forced");
				},
			});
			await clock.advanceUntil(ladder.climb(bench.target, "gentle"));
			expect(steps).toEqual([rung, "kill"]);
			expect(clock.now()).toBe(0);
		},
	);
});

test("whatever happens, no timer is left when the ladder is done", async () => {
	for (const manner of ["gentle", "dumped", "forced"] as const) {
		const { climb, clock } = await ladderScene({
			leave: stays,
			dumpSignal: "SIGUSR1",
			program: (self) => self.ignore("SIGUSR1").idle(),
		});
		await climb(manner);
		expect(clock.pending()).toBe(0);
	}
});
