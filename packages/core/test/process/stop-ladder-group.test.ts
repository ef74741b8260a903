import { describe, expect, test } from "vitest";
import type { FakeProgram } from "../../src/testing/fake-process.ts";
import { ladderScene, leaves, stays } from "./ladder-scene.ts";

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
