import assert from "node:assert/strict";
import { RegistryError, SnakepitError } from "../../src/contract/errors.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { ProcessIdentity } from "../../src/contract/identity.ts";
import type {
	ProcessRegistry,
	Reservation,
	WorkerEnd,
} from "../../src/contract/process-registry.ts";
import { reserved } from "../../src/registry/workers.ts";
import type { ContractCase } from "../../src/testing/contract-case.ts";

/** One registry under test. */
interface RegistryBench {
	/** Of a run that nothing was recorded in yet. */
	readonly registry: ProcessRegistry;
	/** The process whose run it is. */
	readonly owner: ProcessIdentity;
	/** Every event of the registry, in order. */
	readonly events: readonly SnakepitEvent[];
	/** Lets every write fail, as a full disk does. Left out: what follows from it is not tested. */
	readonly failWrites?: (() => void) | undefined;
	/** Lets writes succeed again. */
	readonly healWrites?: (() => void) | undefined;
	/** Called when the case is over, whether the registry was closed or not. */
	release?(): Promise<void> | void;
}

/** Makes a case that gets a registry of its own. */
type RegistryCase = (
	title: string,
	body: (bench: RegistryBench) => void,
) => ContractCase;

/** A reservation for the next worker. */
function reservationOf(
	registry: ProcessRegistry,
	fields: Partial<Reservation> = {},
): Reservation {
	return {
		incarnation: registry.nextIncarnation(),
		workerId: "pool-0",
		pool: "pool",
		fingerprint: "python#0123456789ab",
		files: ["/run/snakepit/1"],
		...fields,
	};
}

/** How a worker of the contract ends. */
const CLOSED: WorkerEnd = {
	exit: { kind: "code", code: 0 },
	reason: "closed",
	killer: "none",
};

/** Reserves the next worker. */
function reserve(registry: ProcessRegistry): Reservation {
	const reservation = reservationOf(registry);
	registry.reserve(reservation);
	return reservation;
}

/** What the contract needs to know of a registry. */
interface RegistryHarness {
	open(): Promise<RegistryBench> | RegistryBench;
}

/** Everything that the machinery relies on in a registry, as cases for any test runner. */
export function registryContract(
	harness: RegistryHarness,
): readonly ContractCase[] {
	const onBench: RegistryCase = (title, body) => ({
		title,
		run: async () => {
			const bench = await harness.open();
			try {
				body(bench);
			} finally {
				bench.registry.close();
				await bench.release?.();
			}
		},
	});
	return [
		...recordCases(onBench),
		...lifeCases(onBench),
		...registryFailureCases(onBench),
	];
}

function recordCases(onBench: RegistryCase): readonly ContractCase[] {
	return [
		onBench("a fresh registry has no workers", ({ registry }) => {
			assert.deepEqual(
				[registry.list(), registry.living(), registry.lookup("nobody")],
				[[], [], undefined],
			);
		}),
		onBench(
			"incarnations begin with the run id and are never given twice",
			({ registry }) => {
				const names = Array.from({ length: 100 }, () =>
					registry.nextIncarnation(),
				);
				assert.equal(new Set(names).size, 100);
				assert.ok(names.every((name) => name.startsWith(`${registry.runId}-`)));
			},
		),
		onBench(
			"a reservation is on record before there is a process",
			({ registry }) => {
				const reservation = reservationOf(registry);
				registry.reserve(reservation);
				const row = registry.lookup(reservation.incarnation);
				assert.ok(row);
				assert.deepEqual(
					row,
					reserved(undefined, reservation, registry.runId, row.reservedAt),
				);
				assert.deepEqual(registry.living(), [row]);
			},
		),
		onBench(
			"activation adds the identity of the process",
			({ registry, owner }) => {
				const { incarnation } = reserve(registry);
				const identity = { ...owner, pid: 4711, startTime: "12 34" };
				registry.activate(incarnation, identity, 4711);
				const row = registry.lookup(incarnation);
				assert.equal(row?.status, "active");
				assert.deepEqual([row.identity, row.groupId], [identity, 4711]);
				assert.ok(
					typeof row.activatedAt === "number" &&
						row.activatedAt >= row.reservedAt,
				);
				assert.deepEqual(registry.living(), [row]);
			},
		),
		onBench(
			"the location of a worker on another machine is kept beside its process",
			({ registry, owner }) => {
				const { incarnation } = reserve(registry);
				registry.activate(incarnation, owner, owner.pid);
				assert.equal(registry.lookup(incarnation)?.location, undefined);
				const location = { name: "rack-7", address: "10.0.0.7" };
				registry.locate(incarnation, location);
				const row = registry.lookup(incarnation);
				assert.deepEqual([row?.location, row?.identity], [location, owner]);
				registry.end(incarnation, CLOSED);
				assert.deepEqual(registry.lookup(incarnation)?.location, location);
				assert.throws(() => registry.locate("nobody", location), {
					code: "IMPOSSIBLE_TRANSITION",
				});
			},
		),
		onBench(
			"the end adds how and why, and the row stays as history",
			({ registry, owner }) => {
				const { incarnation } = reserve(registry);
				registry.activate(incarnation, owner, owner.pid);
				const end: WorkerEnd = {
					exit: { kind: "signal", signal: "SIGKILL" },
					reason: "hung",
					killer: "stop_ladder",
				};
				registry.end(incarnation, end);
				const row = registry.lookup(incarnation);
				assert.equal(row?.status, "ended");
				assert.deepEqual([row.end, row.identity], [end, owner]);
				assert.ok(typeof row.endedAt === "number");
				assert.deepEqual([registry.living(), registry.list()], [[], [row]]);
			},
		),
		onBench(
			"the first end counts, a second is harmless",
			({ registry, owner }) => {
				const { incarnation } = reserve(registry);
				registry.activate(incarnation, owner, owner.pid);
				registry.end(incarnation, CLOSED);
				registry.end(incarnation, {
					exit: undefined,
					reason: "vanished",
					killer: "unknown",
				});
				assert.deepEqual(registry.lookup(incarnation)?.end, CLOSED);
			},
		),
		onBench(
			"a reservation may end without ever becoming a process",
			({ registry }) => {
				const { incarnation } = reserve(registry);
				const end: WorkerEnd = {
					exit: undefined,
					reason: "start_failed",
					killer: "none",
				};
				registry.end(incarnation, end);
				const row = registry.lookup(incarnation);
				assert.deepEqual(
					[row?.status, row?.end, row?.identity],
					["ended", end, undefined],
				);
			},
		),
		onBench("workers are listed oldest first", ({ registry }) => {
			const names = Array.from(
				{ length: 12 },
				() => reserve(registry).incarnation,
			);
			registry.end(names[3] ?? "", CLOSED);
			assert.deepEqual(
				registry.list().map((row) => row.incarnation),
				names,
			);
			assert.deepEqual(
				registry.living().map((row) => row.incarnation),
				names.filter((_, index) => index !== 3),
			);
		}),
		onBench("any text survives the way through the ledger", ({ registry }) => {
			const hostile = "'; drop table workers; -- \\ \" \n \u0001 ü 🐍";
			const reservation = reservationOf(registry, {
				pool: hostile,
				workerId: hostile,
				files: [hostile, "", "/a"],
			});
			registry.reserve(reservation);
			const row = registry.lookup(reservation.incarnation);
			assert.deepEqual(
				[row?.pool, row?.workerId, row?.files],
				[hostile, hostile, reservation.files],
			);
		}),
		onBench("statistics count by status", ({ registry, owner }) => {
			const names = Array.from(
				{ length: 4 },
				() => reserve(registry).incarnation,
			);
			for (const name of names.slice(0, 3))
				registry.activate(name, owner, owner.pid);
			registry.end(names[0] ?? "", CLOSED);
			const { reserved, active, ended, unwritten } = registry.statistics();
			assert.deepEqual(
				{ reserved, active, ended, unwritten },
				{ reserved: 1, active: 2, ended: 1, unwritten: 0 },
			);
			assert.equal(registry.flush(), 0);
		}),
	];
}

function lifeCases(onBench: RegistryCase): readonly ContractCase[] {
	return [
		onBench(
			"its record has its owner, and is not over",
			({ registry, owner }) => {
				const own = registry.record;
				assert.deepEqual(
					[own.runId, own.owner, own.state],
					[registry.runId, owner, registry.state],
				);
				assert.deepEqual(
					[own.endedAt, own.clean, own.endedBy, own.killed],
					[undefined, undefined, undefined, 0],
				);
			},
		),
		onBench(
			"a run moves by its table, and an impossible step changes nothing",
			({ registry }) => {
				registry.transition("shutting_down");
				assert.equal(registry.state, "shutting_down");
				assert.equal(registry.record.state, "shutting_down");
				for (const to of [
					"initializing",
					"cleaning_stale",
					"running",
					"shutting_down",
				] as const) {
					assertImpossible(() => registry.transition(to));
				}
				assert.equal(registry.state, "shutting_down");
			},
		),
		onBench("closing ends the run, also twice", ({ registry }) => {
			registry.close();
			registry.close();
			assert.equal(registry.state, "terminated");
		}),
		onBench(
			"a run that is closed while a worker lives is not clean",
			({ registry }) => {
				reserve(registry);
				registry.close();
				assert.equal(registry.state, "terminated");
				assert.equal(registry.record.clean, false);
			},
		),
		onBench(
			"after its close no process is recorded, so that none is started, and what is known of the others is only in memory",
			({ registry, owner, events }) => {
				const { incarnation } = reserve(registry);
				const late = reserve(registry);
				const next = reservationOf(registry);
				registry.activate(incarnation, owner, owner.pid);
				registry.close();
				const before = events.length;
				const { commits } = registry.statistics();
				assertRunClosed(() => registry.reserve(next));
				assertRunClosed(() =>
					registry.activate(late.incarnation, owner, owner.pid),
				);
				registry.locate(incarnation, {
					name: "node-b",
					address: "10.0.0.2",
				});
				registry.end(incarnation, CLOSED);
				registry.end(incarnation, CLOSED);
				registry.end("nobody", CLOSED);
				registry.flush();
				assert.equal(registry.lookup(incarnation)?.status, "ended");
				assert.equal(registry.lookup(late.incarnation)?.status, "reserved");
				assert.equal(registry.lookup(next.incarnation), undefined);
				assert.equal(registry.record.clean, false);
				assert.equal(registry.statistics().commits, commits);
				assert.deepEqual(events.slice(before), []);
			},
		),
		onBench(
			"what cannot happen to a worker is an error, and changes nothing",
			({ registry, owner }) => {
				const reservation = reserve(registry);
				const { incarnation } = reservation;
				assertImpossible(() => registry.reserve(reservation));
				assertImpossible(() => registry.activate("nobody", owner, owner.pid));
				registry.activate(incarnation, owner, owner.pid);
				assertImpossible(() =>
					registry.activate(incarnation, { ...owner, pid: 1 }, 1),
				);
				registry.end(incarnation, CLOSED);
				assertImpossible(() =>
					registry.activate(incarnation, owner, owner.pid),
				);
				assert.equal(registry.lookup(incarnation)?.status, "ended");
			},
		),
	];
}

function assertRunClosed(step: () => void): void {
	assert.throws(
		step,
		(error) => error instanceof SnakepitError && error.code === "RUN_CLOSED",
	);
}

function assertImpossible(step: () => void): void {
	assert.throws(
		step,
		(error) =>
			error instanceof SnakepitError &&
			!(error instanceof RegistryError) &&
			error.code === "IMPOSSIBLE_TRANSITION",
	);
}

/** What the ledger promises when it cannot be written: it is never a reason not to protect. */
function registryFailureCases(onBench: RegistryCase): readonly ContractCase[] {
	const whenFailing = (
		title: string,
		body: (bench: RegistryBench, fail: () => void, heal: () => void) => void,
	): ContractCase =>
		onBench(title, (bench) => {
			const { failWrites, healWrites } = bench;
			if (!failWrites || !healWrites) return;
			try {
				body(bench, failWrites, healWrites);
			} finally {
				healWrites();
			}
		});
	return [
		whenFailing(
			"when the first reservation cannot be written, nothing is started",
			({ registry }, fail) => {
				fail();
				assert.throws(
					() => registry.reserve(reservationOf(registry)),
					(error) => error instanceof RegistryError,
				);
				assert.deepEqual(registry.living(), []);
			},
		),
		whenFailing(
			"when a later write fails, a running pool continues with what is in memory",
			({ registry, owner, events }, fail) => {
				const first = reserve(registry);
				fail();
				registry.activate(first.incarnation, owner, owner.pid);
				const second = reserve(registry);
				registry.end(first.incarnation, CLOSED);
				assert.deepEqual(
					registry.living().map((row) => row.incarnation),
					[second.incarnation],
				);
				assert.equal(registry.lookup(first.incarnation)?.status, "ended");
				assert.equal(registry.statistics().unwritten, 2);
				assert.equal(registry.flush(), 2);
				assert.deepEqual(namesOf(events), ["registry.degraded"]);
			},
		),
		whenFailing(
			"what could not be written is written when that is possible again",
			({ registry, events }, fail, heal) => {
				const first = reserve(registry);
				fail();
				registry.end(first.incarnation, CLOSED);
				heal();
				assert.equal(registry.flush(), 0);
				assert.equal(registry.statistics().unwritten, 0);
				assert.deepEqual(registry.lookup(first.incarnation)?.end, CLOSED);
				assert.deepEqual(namesOf(events), [
					"registry.degraded",
					"registry.recovered",
				]);
			},
		),
		whenFailing(
			"what is written only at the close is reported before the end of the run",
			({ registry, events }, fail, heal) => {
				const first = reserve(registry);
				fail();
				registry.end(first.incarnation, CLOSED);
				heal();
				registry.close();
				assert.deepEqual(namesOf(events), [
					"registry.degraded",
					"registry.recovered",
				]);
			},
		),
		whenFailing("closing never throws", ({ registry }, fail) => {
			reserve(registry);
			fail();
			registry.close();
			assert.equal(registry.state, "terminated");
		}),
	];
}

function namesOf(events: RegistryBench["events"]): readonly string[] {
	return events
		.map((event) => event.type)
		.filter(
			(type) => type === "registry.degraded" || type === "registry.recovered",
		);
}
