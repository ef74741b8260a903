import { setTimeout as sleep } from "node:timers/promises";
import { pythonGrpc } from "@snakepit/adapter-grpc-python";
import { createPool, type Pool, QueueError } from "@snakepit/core";
import { Callers } from "./callers.ts";
import { Calls } from "./calls.ts";
import { Chance } from "./chance.ts";
import { HostSide } from "./host-side.ts";
import { contradictions, readJournal } from "./journal.ts";
import {
	answers,
	backCalls,
	type Kind,
	sessionCalls,
	streams,
} from "./kinds.ts";
import type { KnownSession } from "./made-call.ts";
import { Observer } from "./observer.ts";
import { type Chosen, choose } from "./setting.ts";
import { Sources } from "./sources.ts";

export interface LifeSetting {
	readonly seed: number;
	readonly calls: number;
	readonly name: string;
	readonly dataDir: string;
	/** Where tools write that they began. */
	readonly journal: string;
	readonly python: string;
	readonly tools: string;
}

/** What came of one pool. */
export interface LifeReport {
	readonly chosen: Chosen;
	/** Calls by how they ended. */
	readonly endings: Readonly<Record<string, number>>;
	/** What no model allows, each in a few words. */
	readonly wrong: readonly string[];
	/** How its workers ended. */
	readonly ends: readonly string[];
}

/** Callers at once. */
const LANES = 6;
/** How long what was begun for a call may take to hear of its end. */
const HEARD_MS = 10_000;
const SIGNALS = ["SIGKILL", "SIGSEGV", "SIGTERM", "SIGABRT"] as const;

/**
 * One pool from its start to its end: whatever can be asked of it is asked in any
 * order, several at once, while workers are recycled, crash and are killed; at
 * some moment it is closed.
 */
export async function live(setting: LifeSetting): Promise<LifeReport> {
	const { seed, name, journal, python, tools, dataDir } = setting;
	const chance = new Chance(seed);
	const chosen = choose(chance, name, setting.calls);
	const observer = new Observer();
	const calls = new Calls(name, chosen, observer);
	const sources = new Sources((what) => calls.wrong(what));
	const hostSide = new HostSide(calls, () => pool);
	const { transport, preload, streamCredit } = chosen;
	const pool: Pool = await createPool({
		...chosen.pool,
		dataDir,
		adapter: pythonGrpc({
			...{ python, tools, transport, preload },
			...(streamCredit === undefined ? {} : { streamCredit }),
			env: { RANDOM_LIFE_JOURNAL: journal },
			hostFunctions: hostSide.functions(),
		}),
		onEvent: (event) => observer.hear(event),
	});
	const callers = new Callers(calls, chance, pool);
	const bound = {
		answer: callers.answer.bind(callers),
		read: callers.read.bind(callers),
	};
	const kinds: readonly Kind[] = [
		...answers(bound, chance),
		...streams(bound, chance, sources),
		...backCalls(bound, chance),
		...sessionCalls(bound, chance, session),
		[0.7, async () => killOne()],
	];
	const weights = kinds.reduce((sum, [weight]) => sum + weight, 0);
	const sessions: KnownSession[] = [];
	let made = 0;
	let closed: Promise<void> | undefined;

	await Promise.all(Array.from({ length: LANES }, lane));
	await close();
	const until = performance.now() + HEARD_MS;
	const isHeard = (): boolean =>
		sources.begun === sources.ended && hostSide.begun === hostSide.ended;
	while (!isHeard() && performance.now() < until) await sleep(10);
	if (!isHeard())
		calls.wrong(
			`of ${sources.begun} sources ${sources.ended} ended, of ${hostSide.begun} back-calls ${hostSide.ended}`,
		);
	observer.conclude(pool);
	const written = readJournal(journal);
	for (const call of calls.all)
		for (const each of contradictions(call, written, observer, streamCredit))
			calls.wrong(each);
	const { endings } = calls;
	return { chosen, endings, wrong: observer.wrong, ends: observer.ends };

	async function lane(): Promise<void> {
		while (made < setting.calls) {
			if (++made >= chosen.closeAfter) void close();
			let at = chance.fraction() * weights;
			const kind = kinds.find(([weight]) => {
				at -= weight;
				return at < 0;
			});
			await kind?.[1]();
			if (calls.all.at(-1)?.outcome === "QUEUE_FULL") await sleep(20);
			if (calls.pool === "closing" && chance.of(0.6)) return;
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

	function session(): KnownSession | undefined {
		const open = sessions.filter(({ state }) => state === "open");
		const one = open.length === 0 || chance.of(0.3) ? begin() : undefined;
		const used = one ?? (open.length > 0 ? chance.pick(open) : undefined);
		if (used !== undefined && chance.of(0.15)) {
			used.session.close();
			used.state = "closed";
		}
		return used;
	}

	function begin(): KnownSession | undefined {
		const affinity = chance.of(0.6) ? "strict" : "hint";
		try {
			const begun: KnownSession = {
				session: pool.session({ affinity }),
				affinity,
				made: new Set(),
				answered: [],
				state: "open",
			};
			sessions.push(begun);
			return begun;
		} catch (error) {
			if (!(error instanceof QueueError)) throw error;
			return undefined;
		}
	}

	function killOne(): void {
		// Seen in this very turn: it is a child of this program's, or of its preloaded parent.
		const there = pool.workers().filter(({ state }) => state === "ready");
		const pid = there.length > 0 ? chance.pick(there).pid : undefined;
		if (pid !== undefined) process.kill(pid, chance.pick(SIGNALS));
	}
}
