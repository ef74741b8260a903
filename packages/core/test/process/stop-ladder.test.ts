import { describe, expect, test } from "vitest";
import type { ProcessExit } from "../../src/contract/identity.ts";
import {
	killerOf,
	lostParentOf,
	type SentSignal,
} from "../../src/process/process-end.ts";
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

describe("the group", () => {
	const leavesAChild: FakeProgram = async (self) => {
		self.fork((child) => child.ignore("SIGTERM").idle());
		await self.idle();
	};

	test.each([
		["left", leaves, ["leave 0", "sweep 1"]],
		[
			"was killed by SIGTERM, and whose child ignores it,",
			undefined,
			["terminate 1", "terminate 1", "sweep 1"],
		],
	])("of a worker that %s is swept", async (_how, leave, rungs) => {
		const bench = await ladderScene({
			program: leavesAChild,
			...(leave && { leave }),
		});
		expect(await bench.climb()).toMatchObject({ gone: true });
		expect(bench.rungs()).toEqual(rungs);
		expect(bench.host.living()).toEqual([]);
	});

	test("of a worker that died by itself is swept too, and the worker counts as ended by itself", async () => {
		const { ladder, target, process, host, rungs } = await ladderScene({
			program: leavesAChild,
		});
		process.die({ kind: "signal", signal: "SIGSEGV" });
		expect(await ladder.finish(target)).toEqual({
			gone: true,
		});
		expect(rungs()).toEqual(["sweep 1"]);
		expect(host.living()).toEqual([]);
	});

	test("of a worker that was dying when its conversation broke is swept too, and the worker counts as ended by itself", async () => {
		const { ladder, target, process, host, rungs } = await ladderScene({
			program: leavesAChild,
		});
		const climbed = ladder.climb(target, "waiting");
		process.exit(1);
		expect(await climbed).toEqual({ gone: true });
		expect(rungs()).toEqual(["sweep 1"]);
		expect(host.living()).toEqual([]);
	});

	test("that cannot be read does not prevent the end", async () => {
		const { ladder, target, process, host, rungs } = await ladderScene({
			program: leavesAChild,
		});
		host.members = () => {
			throw new Error("EMFILE: too many open files");
		};
		process.exit(0);
		expect(await ladder.finish(target)).toEqual({ gone: true });
		expect(rungs()).toEqual([]);
	});

	test("without members is not swept", async () => {
		const { ladder, target, process, rungs } = await ladderScene();
		process.exit(0);
		await ladder.finish(target);
		expect(rungs()).toEqual([]);
	});

	test("of a leader that cannot die is swept without it", async () => {
		const { climb, process, host, rungs } = await ladderScene({
			program: leavesAChild,
		});
		process.killable = false;
		const child = host.living().find(({ pid }) => pid !== process.pid);
		if (child === undefined) return expect.unreachable();
		child.endDelayMs = 60_000;
		await climb("forced");
		expect(rungs()).toEqual(["kill 1", "sweep 1"]);
	});

	test("that may not be signalled is reported as not signalled", async () => {
		const { ladder, target, process, host, rungs } = await ladderScene({
			program: leavesAChild,
		});
		for (const member of host.living()) member.permitted = false;
		process.exit(0);
		await ladder.finish(target);
		expect(rungs()).toEqual(["sweep 0"]);
		expect(host.living()).toHaveLength(1);
	});

	test("that cannot be proven to be the worker's is left alone, which is reported with its pids", async () => {
		const { ladder, target, process, host, rungs, spared } = await ladderScene({
			program: leavesAChild,
		});
		for (const member of host.living()) member.provable = false;
		process.exit(0);
		await ladder.finish(target);
		expect(rungs()).toEqual(["sweep 0"]);
		const pids = host.living().map(({ pid }) => pid);
		expect(pids).toHaveLength(1);
		expect(spared).toEqual([{ groupId: process.pid, pids }]);
	});

	test("whose number another leader has is not looked at any further", async () => {
		const { ladder, target, process, host, rungs, spared } =
			await ladderScene();
		process.exit(0);
		const stranger = host.plant({
			program: (self) => self.idle(),
			pid: process.pid,
		});
		await ladder.finish(target);
		expect(rungs()).toEqual([]);
		expect(spared).toEqual([]);
		expect(stranger.alive).toBe(true);
	});

	test("receives SIGTERM as well, and may end in order", async () => {
		const { climb, host, rungs } = await ladderScene({
			program: async (self) => {
				self.fork((child) => child.on("SIGTERM", () => child.exit(0)).idle());
				await self.idle();
			},
		});
		await climb();
		expect(rungs()).toEqual(["terminate 1", "terminate 1"]);
		expect(host.machine.started.at(-1)?.received).toEqual(["SIGTERM"]);
	});

	test("of a worker whose end was ordered is left to that order", async () => {
		const { ladder, target, process, clock, rungs } = await ladderScene({
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

describe("a signal", () => {
	/** Ends its child in order, which the signal that it gets itself would kill. */
	const server: FakeProgram = async (self) => {
		const child = self.fork(async (worker) => {
			worker.on("SIGUSR1", () => worker.exit(0));
			await worker.idle();
		});
		const endsItsChild = async (): Promise<void> => {
			await self.sleep(1);
			child.signal("SIGUSR1");
			const { kind } = await child.exited;
			self.exit(kind === "code" ? 0 : 1);
		};
		for (const signal of ["SIGTERM", "SIGINT"] as const)
			self.on(signal, () => void endsItsChild());
		await self.idle();
	};
	/** Is killed by the signal, as a shell is; its children need time to finish. */
	const shell: FakeProgram = async (self) => {
		for (const ms of [100, 300])
			self.fork(async (child) => {
				child.on("SIGTERM", () => {
					void child.sleep(ms).then(() => child.exit(0));
				});
				await child.idle();
			});
		await self.idle();
	};

	test.each([
		["SIGTERM", "leader", 0],
		["SIGINT", "leader", 0],
		["SIGTERM", "group", 1],
	] as const)(
		"%s to the %s of a server ends it with %i: its child ends in order, unless it is killed before",
		async (signal, to, code) => {
			const bench = await ladderScene({
				program: server,
				plan: { signal, to },
			});
			expect(await bench.climb()).toEqual({ gone: true, tookMs: 1 });
			expect(await bench.process.exited).toEqual({ kind: "code", code });
			expect(bench.rungs()).toEqual(["terminate 1"]);
			expect(bench.sent).toEqual([signal]);
		},
	);

	test("that killed its leader reaches what a shell has left, which has the rest of the time", async () => {
		const bench = await ladderScene({ program: shell });
		const { tookMs } = await bench.climb();
		expect(bench.rungs()).toEqual(["terminate 1", "terminate 2"]);
		expect(tookMs).toBeGreaterThanOrEqual(300);
		expect(tookMs).toBeLessThanOrEqual(400);
		expect(bench.host.living()).toEqual([]);
	});

	test("has no such rest when the end is hurried", async () => {
		const { ladder, target, clock, rungs } = await ladderScene({
			program: shell,
		});
		const climbed = ladder.climb(target, "gentle");
		await clock.advance(50);
		void ladder.climb(target, "forced");
		expect(await climbed).toEqual({ gone: true });
		expect(clock.now()).toBe(50);
		expect(rungs()).toEqual(["terminate 1", "terminate 2", "sweep 2"]);
	});
});

const ladder = (signal: NodeJS.Signals): SentSignal => ({
	signal,
	by: "stop_ladder",
});
const cleanup: SentSignal = { signal: "SIGKILL", by: "application_cleanup" };
const by = (signal: NodeJS.Signals): ProcessExit => ({
	kind: "signal",
	signal,
});
const code: ProcessExit = { kind: "code", code: 0 };

test.each<[string, ProcessExit | undefined, readonly SentSignal[], string]>([
	["ended by itself", code, [], "none"],
	["crashed", by("SIGSEGV"), [], "none"],
	["killed by nobody here", by("SIGKILL"), [], "unknown"],
	["ended by SIGTERM of nobody here", by("SIGTERM"), [], "unknown"],
	["killed by the ladder", by("SIGKILL"), [ladder("SIGKILL")], "stop_ladder"],
	[
		"ended by the ladder's SIGTERM",
		by("SIGTERM"),
		[ladder("SIGTERM")],
		"stop_ladder",
	],
	[
		"ended in order when the ladder sent SIGTERM",
		code,
		[ladder("SIGTERM")],
		"stop_ladder",
	],
	[
		"killed at the exit of the host",
		by("SIGKILL"),
		[cleanup],
		"application_cleanup",
	],
	[
		"killed at the exit of the host after the ladder's SIGTERM",
		by("SIGKILL"),
		[ladder("SIGTERM"), cleanup],
		"application_cleanup",
	],
	[
		"killed by both, the ladder first",
		by("SIGKILL"),
		[ladder("SIGKILL"), cleanup],
		"stop_ladder",
	],
	[
		"killed from outside after the ladder's SIGTERM",
		by("SIGKILL"),
		[ladder("SIGTERM")],
		"unknown",
	],
	[
		"crashed after the ladder's SIGTERM",
		by("SIGSEGV"),
		[ladder("SIGTERM")],
		"none",
	],
	["ended by itself before SIGKILL arrived", code, [ladder("SIGKILL")], "none"],
	[
		"ended by itself before the host's SIGKILL arrived",
		code,
		[cleanup],
		"none",
	],
	[
		"ended by the signal that asks for stacks",
		by("SIGUSR1"),
		[ladder("SIGUSR1"), ladder("SIGKILL")],
		"stop_ladder",
	],
	[
		"sent SIGKILL and still there",
		undefined,
		[ladder("SIGKILL")],
		"stop_ladder",
	],
	["still there, and sent nothing", undefined, [], "none"],
])("%s", (_what, exit, sent, killer) => {
	expect(killerOf(exit, sent)).toBe(killer);
});

test("a process whose parent was lost was killed by that, but for a signal of this program", () => {
	expect(killerOf(by("SIGKILL"), [], "guard")).toBe("guard");
	expect(killerOf(by("SIGSEGV"), [], "guard")).toBe("none");
	expect(killerOf(by("SIGKILL"), [ladder("SIGKILL")], "guard")).toBe(
		"stop_ladder",
	);
});

test("nothing but the loss of a parent has killed what it forked", () => {
	for (const [source, killer] of [
		["preload", "preloaded_parent"],
		["guard", "guard"],
	] as const) {
		expect(lostParentOf({ source, isParentLost: true })).toBe(killer);
		expect(lostParentOf({ source, isParentLost: false })).toBeUndefined();
		expect(lostParentOf({ source, isParentLost: undefined })).toBeUndefined();
	}
});
