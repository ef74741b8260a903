import { expect, onTestFinished, test } from "vitest";
import {
	Auditor,
	type AuditorParts,
	type AuditRule,
} from "../../src/audit/auditor.ts";
import {
	type KillTarget,
	ProcessKiller,
} from "../../src/cleanup/process-killer.ts";
import { RegistryError } from "../../src/contract/errors.ts";
import {
	formatMarker,
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
	markerOf,
} from "../../src/contract/identity.ts";
import type { SnapshotHost } from "../../src/os/descendants.ts";
import type { FakeProcess } from "../../src/testing/fake-process.ts";
import {
	type VirtualWorld,
	virtualWorld,
} from "../../src/testing/virtual-pool.ts";

const INTERVAL_MS = 30_000;
const reservation = {
	workerId: "p-0",
	pool: "p",
	fingerprint: "f",
	files: [],
};

interface Scene extends VirtualWorld {
	readonly auditor: Auditor;
	/** Lets that many looks pass. */
	looks(count?: number): Promise<void>;
	/** A process with the run's marker, of that worker. */
	plant(incarnation?: string): FakeProcess;
}

function scene(
	strays: AuditRule["strays"] = "reported",
	fields: Partial<AuditorParts> = {},
): Scene {
	const virtual = virtualWorld();
	const { host, clock, registry, events } = virtual;
	const snapshot: SnapshotHost = Object.assign(host, {
		snapshot: () => ({ processes: [], marked: host.marked(), guards: [] }),
		descendants: () => [],
		halted: () => "no" as const,
		ancestors: () => [],
		signalGroup: () => "refused" as const,
		holdsNumber: () => false,
	});
	const marker = formatMarker(markerOf(registry.runId, host.self, "d"));
	const auditor = new Auditor({
		registry,
		marker,
		host,
		clock,
		killer: new ProcessKiller(snapshot, clock),
		rule: { intervalMs: INTERVAL_MS, strays },
		emit: events.record,
		...fields,
	});
	onTestFinished(() => {
		auditor.stop();
		expect(clock.pending()).toBe(0);
	});
	return {
		...virtual,
		auditor,
		looks: (count = 1) => clock.advance(count * INTERVAL_MS),
		plant: (incarnation) =>
			host.plant({
				program: (process) => process.idle(),
				spec: {
					executable: "daemon",
					env: {
						[MARKER_VARIABLE]: marker,
						...(incarnation && { [INCARNATION_VARIABLE]: incarnation }),
					},
				},
			}),
	};
}

function reserve({ registry }: Scene): string {
	const incarnation = registry.nextIncarnation();
	registry.reserve({ ...reservation, incarnation });
	return incarnation;
}

const ENDED = { exit: undefined, reason: "exited", killer: "none" } as const;

test("a row whose process is gone without anybody telling is recorded as vanished, after two looks", async () => {
	const at = scene();
	const incarnation = reserve(at);
	at.registry.activate(
		incarnation,
		{ ...at.host.self, pid: 4_000_000 },
		4_000_000,
	);
	await at.looks();
	expect(at.registry.living()).toHaveLength(1);
	await at.looks();
	expect(at.registry.living()).toHaveLength(0);
	expect(at.registry.lookup(incarnation)?.end).toMatchObject({
		reason: "vanished",
	});
	expect(at.events.of("registry.reconciled")).toMatchObject([
		{ vanished: 1, strays: 0, unwritten: 0 },
	]);
	expect(at.auditor.statistics()).toEqual({
		looks: 2,
		vanished: 1,
		straysFound: 0,
		straysKilled: 0,
	});
});

test("nothing is said while nothing is amiss: workers that are reserved or active are known, with all that descends from them", async () => {
	const at = scene();
	const spawning = reserve(at);
	const active = reserve(at);
	const process = at.plant(active);
	at.registry.activate(active, process.identity, process.groupId);
	at.plant(spawning);
	at.plant(active);
	await at.looks(10);
	expect(at.events.events).toEqual([]);
});

test("what is unwritten is written at the next look, and reported while it cannot be", async () => {
	const at = scene();
	reserve(at);
	at.registry.failWrites(
		new RegistryError({ code: "REGISTRY_FULL", message: "full" }),
	);
	reserve(at);
	await at.looks();
	expect(at.events.of("registry.reconciled")).toMatchObject([
		{ vanished: 0, unwritten: 1 },
	]);
	at.registry.healWrites();
	await at.looks(3);
	expect(at.events.of("registry.recovered")).toHaveLength(1);
	expect(at.events.of("registry.reconciled")).toHaveLength(1);
});

test("a process of an ended or unknown worker is reported once, at its second look; what is gone by then was just being ended", async () => {
	const at = scene();
	const incarnation = reserve(at);
	at.registry.end(incarnation, ENDED);
	const swept = at.plant(incarnation);
	const ended = at.plant(incarnation);
	const unknown = at.plant();
	await at.looks();
	expect(at.events.of("audit.stray_found")).toEqual([]);
	swept.die({ kind: "signal", signal: "SIGKILL" });
	await at.looks(5);
	expect(at.events.of("audit.stray_found")).toMatchObject([
		{ pid: ended.pid, incarnation, of: "ended", name: "daemon" },
		{ pid: unknown.pid, incarnation: undefined, of: "unknown" },
	]);
	expect(at.events.of("registry.reconciled")).toMatchObject([
		{ strays: 2, vanished: 0, unwritten: 0 },
	]);
	expect(at.auditor.statistics()).toMatchObject({
		straysFound: 2,
		straysKilled: 0,
	});
	expect([ended, unknown].map(({ alive }) => alive)).toEqual([true, true]);
});

test("where strays are killed, so is what they fork meanwhile; nothing else is", async () => {
	const at = scene("killed");
	const incarnation = reserve(at);
	at.registry.end(incarnation, ENDED);
	const living = reserve(at);
	const worker = at.plant(living);
	const strays = [at.plant(incarnation).ignore("SIGTERM"), at.plant()];
	await at.looks();
	const other = at.plant("zzzzzzz-1");
	await at.looks();
	// Seen for the first time at the look at which others are ended.
	expect([worker, other].map(({ alive }) => alive)).toEqual([true, true]);
	const forked = at.plant(incarnation);
	// Of no known worker, as one of those that are ended: that alone makes it none of them.
	const unknown = at.plant();
	await at.clock.advance(5_000);
	expect([...strays, forked].map(({ alive }) => alive)).toEqual([
		false,
		false,
		false,
	]);
	expect([worker, unknown].map(({ alive }) => alive)).toEqual([true, true]);
	expect(at.events.of("audit.stray_killed").length).toBe(3);
	await at.looks(2);
	expect([other, unknown].map(({ alive }) => alive)).toEqual([false, false]);
	expect(at.auditor.statistics()).toMatchObject({
		straysFound: 4,
		straysKilled: 5,
	});
});

test("a stray that cannot be ended is reported with the reason, and is not ended twice at a time", async () => {
	let asked = 0;
	const done = Promise.withResolvers<void>();
	const at = scene("killed", {
		killer: {
			end: async <Target extends KillTarget>(
				find: () => readonly Target[] | Promise<readonly Target[]>,
			) => {
				asked++;
				const targets = await find();
				await done.promise;
				return targets.map((target) => ({ target, fate: "refused" as const }));
			},
		},
	});
	const { pid } = at.plant("zzzzzzz-1");
	await at.looks(5);
	expect(asked).toBe(1);
	done.resolve();
	await at.clock.advance(0);
	expect(at.events.of("audit.stray_spared")).toMatchObject([
		{ pid, incarnation: "zzzzzzz-1", reason: "signal_refused" },
	]);
	await at.looks();
	expect(asked).toBe(2);
});

test("a pid that another process has by the second look is looked at anew", async () => {
	const at = scene();
	const first = at.plant();
	await at.looks();
	first.die({ kind: "signal", signal: "SIGKILL" });
	const second = at.host.plant({
		pid: first.pid,
		program: (process) => process.idle(),
		spec: first.spec,
	});
	await at.looks();
	expect(at.events.of("audit.stray_found")).toEqual([]);
	await at.looks();
	expect(at.events.of("audit.stray_found")).toMatchObject([
		{ pid: second.pid },
	]);
});

test("a look that fails is reported, and the next one is made; nothing is forgotten meanwhile", async () => {
	const at = scene();
	const { pid } = at.plant();
	const incarnation = reserve(at);
	const gone = { ...at.host.self, pid: 4_000_000 };
	at.registry.activate(incarnation, gone, gone.pid);
	await at.looks();
	const marked = at.host.marked;
	at.host.marked = () => {
		throw new Error("EMFILE: too many open files");
	};
	await at.looks();
	expect(at.events.of("audit.failed")).toMatchObject([
		{ runId: at.registry.runId, reason: "EMFILE: too many open files" },
	]);
	// What needs no list of processes is done.
	expect(at.events.of("registry.reconciled")).toMatchObject([{ vanished: 1 }]);
	at.host.marked = marked;
	await at.looks();
	expect(at.events.of("audit.stray_found")).toMatchObject([{ pid }]);
	expect(at.events.of("audit.failed")).toHaveLength(1);
});

test("strays whose end fails midway are ended after a later look", async () => {
	const at = scene("killed");
	const stray = at.plant().ignore("SIGTERM");
	await at.looks();
	const marked = at.host.marked;
	let asked = 0;
	at.host.marked = () => {
		asked++;
		if (asked > 1) throw new Error("EMFILE: too many open files");
		return marked.call(at.host);
	};
	await at.looks();
	expect(at.events.of("audit.failed")).toHaveLength(1);
	expect(stray.alive).toBe(true);
	at.host.marked = marked;
	await at.looks();
	await at.clock.advance(5_000);
	expect(stray.alive).toBe(false);
});
