import { expect, onTestFinished, test, vi } from "vitest";
import { RegistryError } from "../../src/contract/errors.ts";
import type { EventOf } from "../../src/contract/events.ts";
import type {
	Observation,
	ProcessIdentity,
} from "../../src/contract/identity.ts";
import type { WorkerStatus } from "../../src/contract/process-registry.ts";
import { decideVanished, Reconciliation } from "../../src/registry/history.ts";
import {
	ACTS_LIMIT,
	HOST_INCIDENTS_LIMIT,
	STANDSTILLS_LIMIT,
} from "../../src/registry/incidents.ts";
import { RunFile } from "../../src/registry/run-file.ts";
import { ENDED_KEPT, WorkerRows } from "../../src/registry/workers.ts";
import { MemoryRegistry } from "../../src/testing/memory-registry.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { SeededRandom } from "../../src/testing/virtual-pool.ts";
import { seenAs } from "../cleanup/bench.ts";
import {
	CLOSED,
	deadOwner,
	reserveWorker,
	workerRow,
} from "../cleanup/crafted-run.ts";
import { machine } from "../cleanup/hosts.ts";
import { openRegistry } from "./registry-bench.ts";

test("every change is on disk when the call returns", async () => {
	const bench = await openRegistry();
	const { registry } = bench;
	const incarnation = bench.reserve();
	expect(bench.read()).toMatchObject({
		workers: [{ incarnation, status: "reserved" }],
	});
	registry.activate(incarnation, deadOwner(), 9);
	expect(bench.read()).toMatchObject({
		workers: [{ status: "active", identity: deadOwner(), groupId: 9 }],
	});
	const location = { name: "rack-7", address: "10.0.0.7" };
	registry.locate(incarnation, location);
	expect(bench.read()).toMatchObject({ workers: [{ location }] });
	registry.end(incarnation, CLOSED);
	registry.transition("cleaning_stale");
	expect(bench.read()).toMatchObject({
		run: { state: "cleaning_stale" },
		workers: [{ status: "ended", location }],
	});
	expect(registry.statistics()).toMatchObject({ commits: 5, unwritten: 0 });
});

test("while it cannot write it does not try again at every change, and reports it once; what waits is written as one", async () => {
	const bench = await openRegistry();
	const { registry } = bench;
	const first = bench.reserve();
	bench.holdLedger();
	registry.transition("cleaning_stale");
	expect(bench.of("registry.degraded")).toMatchObject([
		{
			code: "REGISTRY_LOCKED",
			unwritten: 1,
			message: expect.stringContaining("dataDir"),
		},
	]);
	const begunAt = performance.now();
	for (let n = 0; n < 400; n++) bench.reserve();
	// To try at each would take 25 ms for each.
	expect(performance.now() - begunAt).toBeLessThan(5_000);
	registry.end(first, CLOSED);
	expect(registry.statistics().unwritten).toBe(402);
	expect(registry.flush()).toBe(402);
	expect(bench.of("registry.degraded").length).toBe(1);

	bench.unlock();
	const { commits } = registry.statistics();
	expect(registry.flush()).toBe(0);
	expect(registry.statistics().commits).toBe(commits + 1);
	expect(bench.of("registry.recovered")).toMatchObject([{ written: 402 }]);
	expect((bench.read() as { workers: unknown[] }).workers.length).toBe(401);
	// Degraded again is reported again.
	bench.holdLedger();
	registry.transition("running");
	expect(bench.of("registry.degraded").length).toBe(2);
});

test("a file that is locked for a moment is no ledger that cannot be written: it is tried again a second later", async () => {
	const bench = await openRegistry();
	const { registry, clock } = bench;
	bench.reserve();
	bench.holdLedger();
	registry.transition("cleaning_stale");
	for (let n = 0; n < 60; n++) bench.reserve();
	expect(registry.statistics().unwritten).toBe(61);
	expect(registry.unwritable).toBe(0);
	bench.unlock();
	await clock.advance(1_000);
	expect(bench.of("registry.recovered")).toMatchObject([{ written: 61 }]);
	expect(registry.statistics().unwritten).toBe(0);

	bench.holdLedger();
	registry.transition("running");
	await clock.advance(1_000);
	expect(registry.unwritable).toBe(1);
	bench.unlock();
	expect(registry.flush()).toBe(0);
	expect(registry.unwritable).toBe(0);
});

test("as long as no worker is on record, a reservation that cannot be written is refused, also while it waits already", async () => {
	const bench = await openRegistry();
	bench.holdLedger();
	bench.registry.transition("cleaning_stale");
	expect(() => bench.reserve()).toThrow(RegistryError);
	expect(bench.registry.list()).toEqual([]);
	bench.unlock();
	bench.reserve();
	expect(bench.registry.statistics()).toMatchObject({
		reserved: 1,
		unwritten: 0,
	});
});

test("closing with nothing left ends the run; with workers left, or unwritten, the next start has it", async () => {
	const clean = await openRegistry();
	clean.registry.close();
	clean.registry.close();
	expect([clean.released, clean.registry.state]).toEqual([
		[true],
		"terminated",
	]);
	expect(clean.read()).toMatchObject({
		run: { state: "terminated", clean: true, endedBy: "host" },
	});
	expect(clean.of("run.ended")).toMatchObject([{ clean: true }]);

	const left = await openRegistry();
	left.reserve();
	left.registry.close();
	expect([left.released, left.registry.state]).toEqual([[false], "terminated"]);
	expect(left.read()).toMatchObject({
		run: { state: "shutting_down", clean: undefined },
	});
	expect(left.of("run.ended")).toMatchObject([{ clean: false }]);

	const unwritten = await openRegistry();
	unwritten.holdLedger();
	unwritten.registry.close();
	expect(unwritten.released).toEqual([false]);
	unwritten.unlock();
	expect(unwritten.read()).toMatchObject({ run: { state: "initializing" } });
});

test("in the last turn of a program a run that has ended waits for no disk, and one that has not does", async () => {
	const clean = await openRegistry();
	const written = vi.spyOn(RunFile.prototype, "write");
	onTestFinished(() => void written.mockRestore());
	clean.registry.close("at_once");
	expect(clean.released).toEqual([true]);
	expect(written.mock.lastCall?.[3]).toBe("host");
	// One plain file all the same.
	expect(clean.read()).toMatchObject({
		run: { state: "terminated", clean: true, endedBy: "host" },
	});

	const left = await openRegistry();
	left.reserve();
	left.registry.close("at_once");
	expect(left.released).toEqual([false]);
	expect(written.mock.lastCall?.[3]).toBe("power_loss");
});

test("the disk is waited for at the end of a run, and at no commit before", async () => {
	const { registry } = await openRegistry();
	const written = vi.spyOn(RunFile.prototype, "write");
	onTestFinished(() => void written.mockRestore());
	registry.transition("cleaning_stale");
	registry.transition("running");
	expect(written.mock.calls.map((call) => call[3])).toEqual([
		undefined,
		undefined,
	]);
	registry.close();
	expect(written.mock.lastCall?.[3]).toBe("power_loss");
});

test("the end of a worker that was never reserved is a defect of ours", async () => {
	const { registry } = await openRegistry();
	expect(() => registry.end("nobody", CLOSED)).toThrow(
		expect.objectContaining({ code: "IMPOSSIBLE_TRANSITION" }),
	);
});

test("workers that ended long ago are read from the file: all are listed, found and counted", async () => {
	const bench = await openRegistry();
	const { registry } = bench;
	const oldest = bench.reserve();
	const names = [oldest];
	for (let n = 0; n < ENDED_KEPT + 50; n++) {
		const incarnation = bench.reserve();
		names.push(incarnation);
		registry.end(incarnation, {
			exit: { kind: "code", code: n % 256 },
			reason: "exited",
			killer: "none",
		});
	}
	const second = names[1] as string;
	expect(registry.list().map(({ incarnation }) => incarnation)).toEqual(names);
	expect(registry.living().map(({ incarnation }) => incarnation)).toEqual([
		oldest,
	]);
	expect(registry.lookup(second)).toMatchObject({
		status: "ended",
		end: { exit: { kind: "code", code: 0 } },
	});
	expect(registry.lookup("nobody")).toBeUndefined();
	expect(registry.statistics()).toMatchObject({
		reserved: 1,
		ended: ENDED_KEPT + 50,
	});
	// What cannot happen to a worker in memory cannot happen to one in the file.
	const again = {
		incarnation: second,
		workerId: "w-0",
		pool: "w",
		fingerprint: "x",
		files: [],
	};
	expect(() => registry.reserve(again)).toThrow("is reserved already");
	expect(() => registry.activate(second, deadOwner(), 9)).toThrow("is ended");
	registry.end(second, { exit: undefined, reason: "hung", killer: "unknown" });
	expect(registry.lookup(second)?.end?.reason).toBe("exited");

	bench.damage();
	expect(registry.lookup(second)).toBeUndefined();
	expect(registry.list().length).toBe(ENDED_KEPT + 1);
	registry.end(oldest, CLOSED);
	registry.close();
	expect(registry.lookup(second)).toBeUndefined();
	expect(registry.list().length).toBeGreaterThanOrEqual(ENDED_KEPT);
});

function unavailable(reason: string): EventOf<"protection.unavailable"> {
	return {
		...{ type: "protection.unavailable", wallMs: 1 },
		...{ protection: "guard", reason },
	};
}

test("what went wrong is in the file when the call returns, and no start reports it again", async () => {
	const { registry, read } = await openRegistry();
	registry.note(unavailable("no binary"));
	expect(read()).toMatchObject({ incidents: [unavailable("no binary")] });
	expect(registry.incidents).toEqual([unavailable("no binary")]);
	registry.note(unavailable("again"));
	expect(read()).toMatchObject({
		incidents: [unavailable("no binary"), unavailable("again")],
	});
});

test("of one run not more than 200 are recorded, and none after its end", async () => {
	const { registry, read } = await openRegistry();
	for (let n = 0; n < HOST_INCIDENTS_LIMIT + 50; n++)
		registry.note(unavailable(`${n}`));
	const { incidents } = read() as { readonly incidents: readonly unknown[] };
	expect(incidents).toHaveLength(HOST_INCIDENTS_LIMIT);
	const other = await openRegistry();
	other.registry.close();
	other.registry.note(unavailable("late"));
	expect(other.registry.incidents).toEqual([]);
});

test("of standstills not more than 50 are recorded, and what else goes wrong has room", async () => {
	const { registry, read } = await openRegistry();
	const still: EventOf<"host.stood_still"> = {
		...{ type: "host.stood_still", kind: "blocked", wallMs: 9_000 },
		...{ sinceWallMs: 5_000, durationMs: 4_000, processorMs: 3_900 },
	};
	for (let n = 0; n < HOST_INCIDENTS_LIMIT; n++) registry.note(still);
	registry.note(unavailable("no binary"));
	const { incidents } = read() as { readonly incidents: readonly unknown[] };
	expect(incidents).toHaveLength(STANDSTILLS_LIMIT + 1);
	expect(incidents).toContainEqual(still);
	expect(incidents).toContainEqual(unavailable("no binary"));
});

test("one that cannot be written is written with the next flush", async () => {
	const bench = await openRegistry();
	const { registry } = bench;
	bench.reserve();
	bench.holdLedger();
	registry.note(unavailable("no binary"));
	expect(registry.statistics().unwritten).toBe(1);
	expect(bench.of("registry.degraded")).toHaveLength(1);
	bench.unlock();
	expect(registry.flush()).toBe(0);
	expect(bench.read()).toMatchObject({
		incidents: [unavailable("no binary")],
	});
});

test("a file that was damaged has them again", async () => {
	const bench = await openRegistry();
	bench.reserve();
	bench.registry.note(unavailable("no binary"));
	bench.damage();
	bench.reserve();
	expect(bench.read()).toMatchObject({
		workers: [{}, {}],
		incidents: [unavailable("no binary")],
	});
});

const paused = (wallMs: number): EventOf<"pool.paused"> => ({
	...{ type: "pool.paused", wallMs, pool: "p", by: "ann" },
	...{ waiting: 0, running: 0 },
});

test("of what was asked for the last 200 are recorded", async () => {
	const { registry, read } = await openRegistry();
	const all = Array.from({ length: ACTS_LIMIT + 7 }, (_, n) => paused(n));
	for (const act of all) registry.note(act);
	expect(registry.acts).toEqual(all.slice(-ACTS_LIMIT));
	expect(read()).toMatchObject({ acts: all.slice(-ACTS_LIMIT), incidents: [] });
});

test("what was asked for is in a file that was damaged again", async () => {
	const bench = await openRegistry();
	bench.reserve();
	bench.registry.note(paused(1));
	bench.damage();
	bench.reserve();
	expect(bench.read()).toMatchObject({ acts: [paused(1)] });
});

test("without content, the ledger keeps the class, the code and the place of an error, and not its message", async () => {
	const { registry, read } = await openRegistry("left_out");
	const error = { name: "E", code: "C", message: "card 17", at: "f (/a:1:2)" };
	const worker = { incarnation: "aaaaaaa-9", workerId: "p-0", pool: "p" };
	registry.failStart(worker, error);
	registry.failOpening(error);
	const shown = { name: "E", code: "C", at: "f (/a:1:2)" };
	expect(read()).toMatchObject({
		workers: [{ status: "ended", startError: shown }],
		incidents: [{ type: "run.open_failed", error: shown }],
	});
	expect(JSON.stringify(read())).not.toContain("card 17");
});

const { self } = machine;

function look(
	identity: ProcessIdentity | undefined,
	observed: Observation,
	before: readonly string[] = [],
): object {
	const rows = [workerRow("abcdefg", { incarnation: "w", identity })];
	const step = decideVanished(rows, new Set(before), self, () => observed);
	return { vanished: step.vanished, missing: [...step.missing] };
}

const NOTHING = { vanished: [], missing: [] };

test("a process that is gone at two looks in a row has vanished: at the first its exit may only not be reported yet", () => {
	expect(look(deadOwner(), "gone")).toEqual({ vanished: [], missing: ["w"] });
	expect(look(deadOwner(), "gone", ["w"])).toEqual({
		vanished: ["w"],
		missing: [],
	});
	const other = { ...deadOwner(), startTime: "2" };
	expect(look(deadOwner(), other, ["w"])).toEqual({
		vanished: ["w"],
		missing: [],
	});
});

test("what lives, what cannot be read, and what is only reserved has not vanished", () => {
	expect(look(deadOwner(), deadOwner(), ["w"])).toEqual(NOTHING);
	expect(look(deadOwner(), "unknown", ["w"])).toEqual(NOTHING);
	expect(look(undefined, "gone", ["w"])).toEqual(NOTHING);
});

test("what has vanished is recorded, and the run continues", () => {
	const registry = new MemoryRegistry({
		clock: new VirtualClock(),
		random: new SeededRandom(1),
		owner: self,
	});
	for (const identity of [deadOwner(), self]) {
		const incarnation = reserveWorker(registry);
		registry.activate(incarnation, identity, identity.pid);
	}
	const reconciliation = new Reconciliation(registry, seenAs({}));
	const first = registry.list()[0]?.incarnation ?? "";
	expect(reconciliation.look()).toEqual([]);
	expect(reconciliation.look()).toEqual([first]);
	expect(reconciliation.look()).toEqual([]);
	expect(registry.lookup(first)?.end).toEqual({
		exit: undefined,
		reason: "vanished",
		killer: "unknown",
	});
	expect(registry.living().length).toBe(1);
});

function put(rows: WorkerRows, n: number, status: WorkerStatus): string {
	const incarnation = `abcdefg-${n}`;
	rows.put(workerRow("abcdefg", { incarnation, status }));
	return incarnation;
}

test("however many workers end, the living and the last ones are kept, and all are counted", () => {
	const rows = new WorkerRows();
	const oldest = put(rows, 0, "active");
	for (let n = 1; n <= ENDED_KEPT * 5; n++) {
		put(rows, n, "reserved");
		put(rows, n, "ended");
		rows.written();
	}
	const kept = rows.kept();
	expect(kept.length).toBe(ENDED_KEPT + 1);
	expect(kept[0]?.incarnation).toBe(oldest);
	expect(kept[1]?.incarnation).toBe(`abcdefg-${ENDED_KEPT * 4 + 1}`);
	expect(rows.get("abcdefg-1")).toBeUndefined();
	expect(rows.forgotten).toBe(ENDED_KEPT * 4);
	expect(
		(["reserved", "active", "ended"] as const).map((s) => rows.count(s)),
	).toEqual([0, 1, ENDED_KEPT * 5]);
});

test("what is not written is not forgotten; rows are written with the place of their reservation", () => {
	const rows = new WorkerRows();
	for (let n = 0; n < ENDED_KEPT * 2; n++) put(rows, n, "ended");
	expect(rows.kept().length).toBe(ENDED_KEPT * 2);
	expect(rows.unwrittenCount).toBe(ENDED_KEPT * 2);
	rows.written();
	expect([rows.kept().length, rows.unwrittenCount]).toEqual([ENDED_KEPT, 0]);
	put(rows, ENDED_KEPT * 2, "reserved");
	put(rows, ENDED_KEPT * 2 - 1, "ended");
	expect(rows.unwritten().map(({ ordinal }) => ordinal)).toEqual([
		ENDED_KEPT * 2,
		ENDED_KEPT * 2 - 1,
	]);
});

test("a reservation that is taken back was never there", () => {
	const rows = new WorkerRows();
	rows.remove(put(rows, 1, "reserved"));
	expect([rows.kept(), rows.unwritten(), rows.count("reserved")]).toEqual([
		[],
		[],
		0,
	]);
});
