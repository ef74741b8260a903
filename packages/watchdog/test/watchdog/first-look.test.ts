import { type RunId, SystemProcessHost } from "@snakepit/core/infrastructure";
import { expect, test } from "vitest";
import { firstLook } from "../../src/watchdog/host-death.ts";
import type { ListedRun, ListedWorker } from "../../src/watchdog/message.ts";

type Table = NonNullable<ConstructorParameters<typeof SystemProcessHost>[0]>;

const RUN = "abcdefg" as RunId;
const GUARD = 10;
const PARENT = 20;
/** Forked by the preloaded parent, each with a child in a group of its own. */
const [WORKER, CHILD, OTHER, OTHER_CHILD] = [30, 31, 40, 41];
const NAMES: Readonly<Record<number, string>> = {
	[PARENT]: `${RUN}-3`,
	[WORKER]: `${RUN}-1`,
	[CHILD]: `${RUN}-1`,
	[OTHER]: `${RUN}-2`,
	[OTHER_CHILD]: `${RUN}-2`,
};

/** Processes of which one more is killed before each read after the first `quiet` reads. */
class DyingTable implements Table {
	readonly bootId = "boot";
	readonly pidNamespace = "0";
	reads = 0;
	readonly #quiet: number;
	readonly #victims: number[];
	readonly #parents = new Map([
		[process.pid, 1],
		[PARENT, GUARD],
		[WORKER, PARENT],
		[CHILD, WORKER],
		[OTHER, PARENT],
		[OTHER_CHILD, OTHER],
	]);
	readonly #zombies = new Set<number>();

	constructor(quiet: number, victims: readonly number[]) {
		this.#quiet = quiet;
		this.#victims = [...victims];
	}

	entry(pid: number): ReturnType<Table["entry"]> {
		this.#read();
		const parentPid = this.#parents.get(pid);
		if (parentPid === undefined) return "gone";
		return {
			pid,
			parentPid,
			groupId: pid,
			sessionId: pid,
			startTime: `${pid}0`,
			startedAt: undefined,
			condition: this.#zombies.has(pid) ? "zombie" : "alive",
			cpuTimeMs: 0,
			residentBytes: 0,
			name: "program",
		};
	}

	halted(): "no" {
		return "no";
	}

	carries(): "unknown" {
		return "unknown";
	}

	children(pid: number): readonly number[] {
		this.#read();
		return [...this.#parents].flatMap(([child, parent]) =>
			parent === pid ? [child] : [],
		);
	}

	/** As the kernel does it: the children of a dead process go to the next subreaper, the guard. */
	#read(): void {
		if (this.reads++ < this.#quiet) return;
		const victim = this.#victims.shift();
		if (victim === undefined) return;
		this.#zombies.add(victim);
		for (const [child, parent] of this.#parents)
			if (parent === victim) this.#parents.set(child, GUARD);
	}

	readonly moment = (): undefined => undefined;
	readonly entries = (): [] => [];
	readonly threads = (): [] => [];
	readonly environment = (): Map<string, string> => new Map();
	readonly handles = (): "unknown" => "unknown";
}

/** What the watchdog finds, and how often it looks. */
function lookAt(
	table: DyingTable,
	reported: readonly number[],
): ReturnType<typeof firstLook> {
	const host = new SystemProcessHost(table, "machine");
	const workers = reported.map((pid): [string, ListedWorker] => {
		const incarnation = NAMES[pid] ?? "";
		const identity = { ...host.self, pid, startTime: `${pid}0` };
		return [incarnation, { incarnation, identity, groupId: pid }];
	});
	const run: ListedRun = {
		runId: RUN,
		owner: host.self,
		marker: "marker",
		dataDir: "/nowhere",
		runDirectory: "/nowhere",
		graceMs: 1,
		checkIntervalMs: 1_000,
		workers: new Map(workers),
	};
	return firstLook(run, { host, clock: { wall: () => 0 } });
}

const named = (found: ReturnType<typeof firstLook>): Record<number, string> =>
	Object.fromEntries(found.map((each) => [each.pid, each.incarnation ?? ""]));

const ORDERS = [
	["the parent first", [PARENT, WORKER, OTHER]],
	["the parent last", [WORKER, OTHER, PARENT]],
] as const;

test.each(ORDERS)(
	"workers of a preloaded parent and their children are found with their own names: %s",
	(_order, reported) => {
		const found = lookAt(new DyingTable(Infinity, []), reported);
		expect(named(found)).toEqual(NAMES);
		expect(
			Object.fromEntries(found.map((each) => [each.pid, each.knownBy])),
		).toEqual({
			[PARENT]: "reported",
			[WORKER]: "reported",
			[OTHER]: "reported",
			[CHILD]: "descent",
			[OTHER_CHILD]: "descent",
		});
	},
);

const KILLS = [
	["leaves first", [OTHER_CHILD, CHILD, OTHER, WORKER, PARENT]],
	["workers first", [OTHER, WORKER, OTHER_CHILD, CHILD, PARENT]],
] as const;

test.each(
	ORDERS.flatMap(([order, reported]) =>
		KILLS.map(([how, victims]) => ({ order, how, reported, victims })),
	),
)(
	"while a guard kills the same processes, none has another worker's name: $order, $how",
	({ reported, victims }) => {
		const undisturbed = new DyingTable(Infinity, []);
		lookAt(undisturbed, reported);
		for (let quiet = 1; quiet < undisturbed.reads; quiet++) {
			const found = named(lookAt(new DyingTable(quiet, victims), reported));
			expect(NAMES, `killed after ${quiet} reads`).toMatchObject(found);
		}
	},
);
