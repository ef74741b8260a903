import { describe, expect, test } from "vitest";
import type { Connection } from "../../src/adapter.ts";
import {
	type FakeProcess,
	type FakeProgram,
	virtualWorld,
} from "../../src/testing.ts";
import {
	mannerOf,
	StopLadder,
	type StopManner,
	type StopTarget,
} from "../../src/worker/stop-ladder.ts";

const KILL_AFTER_MS = 1_000;
const idle: FakeProgram = (process) => process.idle();

interface SceneOptions {
	readonly program?: FakeProgram;
	/** Left out: leaving is not offered. */
	readonly leave?: (process: FakeProcess, signal: AbortSignal) => Promise<void>;
	readonly dumpSignal?: NodeJS.Signals;
}

/** One process at the foot of its ladder. */
async function scene(options: SceneOptions = {}) {
	const virtual = virtualWorld();
	const { host, world, clock, events } = virtual;
	host.install("program", options.program ?? idle);
	const started = await host.source.start(
		{
			executable: "program",
			args: [],
			env: {},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		() => undefined,
	);
	await clock.settle();
	const process = host.started[0] as FakeProcess;
	const { leave } = options;
	const connection: Connection = {
		execute: () => expect.unreachable(),
		...(leave && { leave: (signal) => leave(process, signal) }),
		[Symbol.asyncDispose]: async () => undefined,
	};
	const target: StopTarget = {
		ref: { pool: "p", workerId: "p-0", incarnation: "r-1" },
		process: started,
		connection,
		dumpSignal: options.dumpSignal,
	};
	const ladder = new StopLadder(KILL_AFTER_MS, world);
	return {
		...virtual,
		process,
		target,
		ladder,
		/** Climbs to the end, and says what came of it and when. */
		climb: async (manner: StopManner = "gentle") => {
			const begunMs = clock.now();
			const outcome = await clock.advanceUntil(ladder.climb(target, manner));
			return { ...outcome, tookMs: clock.now() - begunMs };
		},
		/** The rungs that were told, with what was sent and when. */
		rungs: () =>
			events.of("worker.stop_step").map(({ step, sent }) => `${step} ${sent}`),
	};
}

const leaves = async (process: FakeProcess): Promise<void> => process.exit(0);
const stays = (): Promise<never> => new Promise(() => undefined);

describe("gently", () => {
	test("a worker that leaves when asked gets no signal", async () => {
		const { climb, rungs, process } = await scene({ leave: leaves });
		expect(await climb()).toEqual({ gone: true, signalled: false, tookMs: 0 });
		expect(rungs()).toEqual(["leave 0"]);
		expect(process.received).toEqual([]);
	});

	test("one that does not leave gets SIGTERM after half of the time", async () => {
		const { climb, rungs, process } = await scene({ leave: stays });
		expect(await climb()).toEqual({
			gone: true,
			signalled: true,
			tookMs: KILL_AFTER_MS / 2,
		});
		expect(rungs()).toEqual(["leave 0", "terminate 1"]);
		expect(process.received).toEqual(["SIGTERM"]);
	});

	test("one that ignores SIGTERM too is killed when the whole time is over", async () => {
		const { climb, rungs, process } = await scene({
			leave: stays,
			program: (self) => self.ignore("SIGTERM").idle(),
		});
		expect(await climb()).toEqual({
			gone: true,
			signalled: true,
			tookMs: KILL_AFTER_MS,
		});
		expect(rungs()).toEqual(["leave 0", "terminate 1", "kill 1"]);
		expect(process.received).toEqual(["SIGTERM", "SIGKILL"]);
	});

	test("one that cannot be asked has the whole time for SIGTERM", async () => {
		const { climb, rungs } = await scene({
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
			const quick = await scene({ leave });
			expect(await quick.climb()).toMatchObject({ tookMs: 0 });
			expect(quick.rungs()).toEqual(["leave 0", "terminate 1"]);
			const slow = await scene({
				leave,
				program: (self) => self.ignore("SIGTERM").idle(),
			});
			expect(await slow.climb()).toMatchObject({ tookMs: KILL_AFTER_MS });
		}
	});

	test("one that said that it leaves has its half of the time to do so", async () => {
		const { climb, rungs } = await scene({
			leave: async (process) => {
				void process.sleep(400).then(() => process.exit(0));
			},
		});
		expect(await climb()).toEqual({
			gone: true,
			signalled: false,
			tookMs: 400,
		});
		expect(rungs()).toEqual(["leave 0"]);
	});

	test("one that ends in its own time after SIGTERM is not killed", async () => {
		const { climb, rungs } = await scene({
			program: (self) =>
				self
					.on("SIGTERM", () => void self.sleep(900).then(() => self.exit(0)))
					.idle(),
		});
		expect(await climb()).toMatchObject({ tookMs: 900, signalled: true });
		expect(rungs()).toEqual(["terminate 1"]);
	});

	test("who is asked to leave is told when the time for it is over", async () => {
		const asked: AbortSignal[] = [];
		const { climb } = await scene({
			leave: async (_process, signal) => {
				asked.push(signal);
				await stays();
			},
		});
		await climb();
		expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
	});

	test("one that is gone already is asked nothing more, and no signal is claimed", async () => {
		const { climb, rungs, process } = await scene();
		process.exit(0);
		expect(await climb()).toMatchObject({ gone: true, signalled: false });
		expect(rungs()).toEqual(["terminate 0"]);
	});
});

describe("by force", () => {
	test("a worker is killed in the very turn in which it is told to go", async () => {
		const { ladder, target, process, rungs } = await scene({ leave: leaves });
		void ladder.climb(target, "forced");
		expect(process.alive).toBe(false);
		expect(rungs()).toEqual(["kill 1"]);
	});

	test("a hung one writes its stacks first, and is killed a quarter of a second later", async () => {
		const { climb, process, rungs } = await scene({
			dumpSignal: "SIGUSR1",
			program: (self) => self.ignore("SIGUSR1").idle(),
		});
		expect(await climb("dumped")).toMatchObject({ gone: true, tookMs: 250 });
		expect(process.received).toEqual(["SIGUSR1", "SIGKILL"]);
		expect(rungs()).toEqual(["kill 1"]);
	});

	test("a hung one that dies of writing its stacks is not waited for", async () => {
		const { climb } = await scene({ dumpSignal: "SIGUSR1" });
		expect(await climb("dumped")).toMatchObject({ gone: true, tookMs: 0 });
	});

	test("one whose conversation broke may be dying: it is killed a tenth of a second later, unless it was", async () => {
		const alive = await scene();
		expect(await alive.climb("patient")).toEqual({
			gone: true,
			signalled: true,
			tookMs: 100,
		});
		expect(alive.rungs()).toEqual(["kill 1"]);
		const dying = await scene({ program: (self) => self.sleep(99) });
		expect(await dying.climb("patient")).toEqual({
			gone: true,
			signalled: false,
			tookMs: 99,
		});
		expect(dying.rungs()).toEqual([]);
	});

	test.each([
		["hung", "dumped"],
		["broken", "patient"],
		["stuck", "forced"],
		["closed", "forced"],
		[undefined, "forced"],
	] as const)("is what a reason asks for: %s is %s", (reason, manner) => {
		expect(mannerOf(reason)).toBe(manner);
	});

	test("a hung one that cannot write its stacks is killed at once", async () => {
		const { climb, process } = await scene();
		expect(await climb("dumped")).toMatchObject({ tookMs: 0 });
		expect(process.received).toEqual(["SIGKILL"]);
	});

	test("one that not even SIGKILL ends is given up after five seconds, and that is told", async () => {
		const { climb, process } = await scene();
		process.killable = false;
		expect(await climb("forced")).toEqual({
			gone: false,
			signalled: true,
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
			const bench = await scene({ leave: stays, program: stubborn });
			const climbed = bench.ladder.climb(bench.target, "gentle");
			await bench.clock.advance(afterMs);
			expect(bench.process.alive).toBe(true);
			const hurried = bench.ladder.climb(bench.target, "forced");
			await bench.clock.settle();
			expect(await Promise.all([climbed, hurried])).toEqual([
				{ gone: true, signalled: true },
				{ gone: true, signalled: true },
			]);
			expect(bench.rungs()).toEqual(rungs);
			expect(bench.clock.pending()).toBe(0);
		},
	);

	test("a worker that writes its stacks is killed at once", async () => {
		const { ladder, target, clock, process } = await scene({
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
		"who orders the end on hearing of %s hurries the same ladder",
		async (rung) => {
			const bench = await scene({
				program: stubborn,
				...(rung === "leave" && { leave: stays }),
			});
			const { world, clock, events } = bench;
			const ladder: StopLadder = new StopLadder(KILL_AFTER_MS, {
				...world,
				emit: (event) => {
					world.emit(event);
					if (event.type === "worker.stop_step" && event.step === rung)
						void ladder.climb(bench.target, "forced");
				},
			});
			await clock.advanceUntil(ladder.climb(bench.target, "gentle"));
			expect(events.of("worker.stop_step").map(({ step }) => step)).toEqual([
				rung,
				"kill",
			]);
			expect(clock.now()).toBe(0);
		},
	);
});

describe("the group", () => {
	const leavesAChild: FakeProgram = async (self) => {
		self.fork((child) => child.ignore("SIGTERM").idle());
		await self.idle();
	};

	test.each([
		["left", leaves, ["leave 0", "sweep 1"]],
		["ended by SIGTERM", undefined, ["terminate 1", "sweep 1"]],
	])("of a worker that %s is swept", async (_how, leave, rungs) => {
		const bench = await scene({
			program: leavesAChild,
			...(leave && { leave }),
		});
		expect(await bench.climb()).toMatchObject({ gone: true, signalled: true });
		expect(bench.rungs()).toEqual(rungs);
		expect(bench.host.living()).toEqual([]);
	});

	test("of a worker that died by itself is swept too, and the worker counts as ended by itself", async () => {
		const { ladder, target, process, host, rungs } = await scene({
			program: leavesAChild,
		});
		process.die({ kind: "signal", signal: "SIGSEGV" });
		expect(await ladder.finish(target)).toEqual({
			gone: true,
			signalled: false,
		});
		expect(rungs()).toEqual(["sweep 1"]);
		expect(host.living()).toEqual([]);
	});

	test("of a worker that was dying when its conversation broke is swept too, and the worker counts as ended by itself", async () => {
		const { ladder, target, process, host, rungs } = await scene({
			program: leavesAChild,
		});
		const climbed = ladder.climb(target, "patient");
		process.exit(1);
		expect(await climbed).toEqual({ gone: true, signalled: false });
		expect(rungs()).toEqual(["sweep 1"]);
		expect(host.living()).toEqual([]);
	});

	test("with nobody left is not swept", async () => {
		const { ladder, target, process, rungs } = await scene();
		process.exit(0);
		await ladder.finish(target);
		expect(rungs()).toEqual([]);
	});

	test("of a leader that cannot die is swept without it", async () => {
		const { climb, process, host, rungs } = await scene({
			program: leavesAChild,
		});
		process.killable = false;
		const child = host.living().find(({ pid }) => pid !== process.pid);
		if (child === undefined) return expect.unreachable();
		child.lingerMs = 60_000;
		await climb("forced");
		expect(rungs()).toEqual(["kill 1", "sweep 1"]);
	});

	test("that may not be signalled is told as not signalled", async () => {
		const { ladder, target, process, host, rungs } = await scene({
			program: leavesAChild,
		});
		for (const member of host.living()) member.permitted = false;
		process.exit(0);
		await ladder.finish(target);
		expect(rungs()).toEqual(["sweep 0"]);
		expect(host.living()).toHaveLength(1);
	});

	test("hears SIGTERM as well, and may end in order", async () => {
		const { climb, host, rungs } = await scene({
			program: async (self) => {
				self.fork((child) => child.on("SIGTERM", () => child.exit(0)).idle());
				await self.idle();
			},
		});
		await climb();
		expect(rungs()).toEqual(["terminate 1"]);
		expect(host.machine.started.at(-1)?.received).toEqual(["SIGTERM"]);
	});

	test("of a worker whose end was ordered is left to that order", async () => {
		const { ladder, target, process, clock, rungs } = await scene({
			leave: stays,
		});
		const climbed = ladder.climb(target, "gentle");
		process.exit(0);
		const finished = ladder.finish(target);
		await clock.settle();
		expect(await finished).toBe(await climbed);
		expect(rungs()).toEqual(["leave 0"]);
	});
});

test("whatever happens, no timer is left when the ladder is done", async () => {
	for (const manner of ["gentle", "dumped", "forced"] as const) {
		const { climb, clock } = await scene({
			leave: stays,
			dumpSignal: "SIGUSR1",
			program: (self) => self.ignore("SIGUSR1").idle(),
		});
		await climb(manner);
		expect(clock.pending()).toBe(0);
	}
});
