import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import {
	createPool,
	type Pool,
	type PoolOptions,
	QueueError,
} from "@snakepit/core";
import { SeededRandom } from "../../../packages/core/src/testing/virtual-pool.ts";
import { PYTHON } from "../worker-adapter.ts";
import { Calls, type KnownSession } from "./calls.ts";
import { HostSide, type Kind, kindsOf } from "./kinds.ts";
import { Observer } from "./observer.ts";

/** The settings of one pool of a random life. */
export interface Chosen {
	readonly pool: Omit<PoolOptions, "adapter">;
	readonly transport: "grpc" | "framed";
	readonly preload: boolean;
	readonly streamCredit: number | undefined;
	readonly queueLimit: number;
	readonly ttlMs: number;
	readonly drainMs: number;
	readonly manner: "gentle" | "forced";
	/** After this many calls, it is closed, even if calls are running. */
	readonly closeAfter: number;
}

/** Draws a pool: everything that an option can change about the life of a call. */
function choose(chance: SeededRandom, name: string, calls: number): Chosen {
	const queueLimit = chance.pick([0, 2, 1000, 1000]);
	const ttlMs = chance.pick([500, 3_600_000]);
	const recycle = {
		...(chance.fraction() < 0.4 ? { afterCalls: 1 + chance.below(12) } : {}),
		...(chance.fraction() < 0.3 ? { afterMs: 300 + chance.below(3_000) } : {}),
		// Memory is checked ten times in `afterMs`.
		...(chance.fraction() < 0.3
			? { aboveResidentBytes: 60e6, afterMs: 3_000 }
			: {}),
	};
	return {
		pool: {
			name,
			size: chance.pick([
				1,
				2,
				{ min: 1, max: 3, idleMs: 200 },
				{ min: 2, max: 3, idleMs: 0 },
				{ min: 0, max: 2, idleMs: 300 },
			]),
			callsPerWorker: chance.pick([1, 1, 3]),
			// Retries soon and without a limit.
			start: { maxRestarts: 100_000, backoffMs: 2 },
			queue: { limit: queueLimit },
			heartbeat: chance.fraction() < 0.7 ? { intervalMs: 200 } : "off",
			recycle,
			sessions: { ttlMs },
			stop: { killAfterMs: 3_000 },
			output: { echo: "none" },
		},
		transport: chance.pick(["grpc", "framed"] as const),
		preload: chance.fraction() < 0.3,
		streamCredit: chance.fraction() < 0.3 ? chance.pick([1, 2, 5]) : undefined,
		queueLimit,
		ttlMs,
		drainMs: chance.pick([0, 50, 500, 3_000, 30_000]),
		manner: chance.fraction() < 0.2 ? "forced" : "gentle",
		closeAfter: chance.fraction() < 0.5 ? chance.below(calls) : calls,
	};
}

/** Callers at once. */
const LANES = 6;
/** How long it may take until what was begun for a call has noticed its end. */
const NOTICED_MS = 10_000;
const SIGNALS = ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT"] as const;
const TOOLS = join(import.meta.dirname, "tools.py");

export interface LivesReport {
	/** Calls by how they ended. */
	readonly endings: Readonly<Record<string, number>>;
	/** Violations of the model, each in a few words; then the setting of each such pool and how its workers ended. */
	readonly wrong: readonly string[];
}

export interface LivesWanted {
	readonly seed: number;
	/** Calls of each pool. */
	readonly calls: number;
	/** Pools at once. */
	readonly pools: number;
	readonly generations: number;
}

/**
 * Several pools side by side, one generation after the other.
 *
 * The journal of the tools is beside the ledger.
 */
export async function liveAtRandom(
	{ seed, calls, pools, generations }: LivesWanted,
	dataDir: string,
): Promise<LivesReport> {
	const journal = join(dataDir, "journal");
	writeFileSync(journal, "");
	const endings: Record<string, number> = {};
	const wrong: string[] = [];
	const before = listeners();
	for (let generation = 0; generation < generations; generation++) {
		const reports = await Promise.all(
			Array.from({ length: pools }, (_, index) => {
				const name = `life-${seed}-${generation}-${index}`;
				const chance = new SeededRandom(seed + generation * pools + index);
				return live(chance, name, calls, dataDir, journal);
			}),
		);
		for (const report of reports) {
			wrong.push(...report.wrong);
			for (const [ending, times] of Object.entries(report.endings))
				endings[ending] = (endings[ending] ?? 0) + times;
		}
	}
	const after = listeners();
	if (after > before)
		wrong.push(`${before} listeners of the process became ${after}`);
	return { endings, wrong };
}

/**
 * One pool from its start to its end: it is used in every way, in random order and concurrently, while workers are
 * recycled, crash and are killed; at a random moment, it is closed.
 */
async function live(
	chance: SeededRandom,
	name: string,
	most: number,
	dataDir: string,
	journal: string,
): Promise<LivesReport> {
	const chosen = choose(chance, name, most);
	const observer = new Observer();
	const calls = new Calls(name, chosen, observer, chance, () => pool);
	const hostSide = new HostSide(calls);
	const { transport, preload, streamCredit } = chosen;
	const pool: Pool = await createPool({
		...chosen.pool,
		dataDir,
		adapter: pythonGrpc({
			...{ python: PYTHON, tools: TOOLS, transport },
			preload: preload ? "tools" : "off",
			...(streamCredit === undefined ? {} : { streamCredit }),
			env: { RANDOM_LIFE_JOURNAL: journal },
			hostFunctions: hostSide.functions(),
		}),
		onEvent: (event) => observer.observe(event),
	});
	const kinds: readonly Kind[] = [
		...kindsOf(calls, chance, hostSide, session),
		[0.7, async () => killOne()],
	];
	const weights = kinds.reduce((sum, [weight]) => sum + weight, 0);
	const sessions: KnownSession[] = [];
	let made = 0;
	let closed: Promise<void> | undefined;

	await Promise.all(Array.from({ length: LANES }, lane));
	await close();
	const until = performance.now() + NOTICED_MS;
	while (hostSide.begun !== hostSide.ended && performance.now() < until)
		await sleep(10);
	if (hostSide.begun !== hostSide.ended)
		calls.wrong(
			`of ${hostSide.begun} back-calls and sources ${hostSide.ended} ended`,
		);
	observer.conclude(pool);
	calls.compare(journal);
	const { wrong, ends } = observer;
	return {
		endings: calls.endings,
		wrong: wrong.length ? [...wrong, JSON.stringify(chosen), ...ends] : [],
	};

	async function lane(): Promise<void> {
		while (made < most) {
			if (++made >= chosen.closeAfter) void close();
			let at = chance.fraction() * weights;
			const kind = kinds.find(([weight]) => {
				at -= weight;
				return at < 0;
			});
			await kind?.[1]();
			if (calls.all.at(-1)?.outcome === "QUEUE_FULL") await sleep(20);
			if (calls.pool === "closing" && chance.fraction() < 0.6) return;
		}
	}

	function close(): Promise<void> {
		calls.pool = "closing";
		const { manner, drainMs } = chosen;
		closed ??= pool.close({
			manner,
			...(manner === "gentle" ? { drainMs } : {}),
		});
		return closed;
	}

	/** One that is open, or a new one; none where the pool is closed. Some are closed before the call is made. */
	function session(): KnownSession | undefined {
		const open = sessions.filter(({ state }) => state === "open");
		if (open.length === 0 || chance.fraction() < 0.3) {
			const affinity = chance.fraction() < 0.6 ? "strict" : "hint";
			try {
				open.push({
					...{ session: pool.session({ affinity }), affinity },
					...{ tags: new Set(), answered: [], state: "open" },
				});
				sessions.push(...open.slice(-1));
			} catch (error) {
				if (!(error instanceof QueueError)) throw error;
			}
		}
		if (open.length === 0) return undefined;
		const chosenSession = chance.pick(open);
		if (chance.fraction() < 0.15) {
			chosenSession.session.close();
			chosenSession.state = "closed";
		}
		return chosenSession;
	}

	function killOne(): void {
		// Checked in the same turn: it is a child of this program, or of its preloaded parent.
		const there = pool.workers().filter(({ state }) => state === "ready");
		const pid = there.length > 0 ? chance.pick(there).pid : undefined;
		if (pid !== undefined) process.kill(pid, chance.pick(SIGNALS));
	}
}

function listeners(): number {
	return process
		.eventNames()
		.reduce((sum, name) => sum + process.listenerCount(name), 0);
}
