import { setTimeout as sleep } from "node:timers/promises";
import {
	STEPS,
	type StormWanted,
	type Strike,
} from "../../programs/calls-ahead.ts";
import {
	type ChaosCase,
	family,
	GUARD,
	type RoundOutcome,
	unless,
} from "../case.ts";
import {
	type CallNotes,
	contradictions,
	readNotes,
} from "../harness/call-notes.ts";
import { end, lives, look, signal } from "../harness/process-table.ts";
import type { Stage } from "../harness/stage.ts";

/** The disturbances of a round; those that are left out do not happen. */
interface Storm extends Partial<Omit<StormWanted, "seed">> {
	/** Workers are killed and stopped from outside, too. */
	readonly outside?: boolean;
	/** The host is killed when this many calls have ended. */
	readonly hostDiesAfter?: number;
}

const CALLS = 1_200;
/** Longest stay of a worker that was stopped. */
const STOPPED_MS = 60;
const MIXED = { aborted: 0.03, urgent: 0.05, limited: 0.02 };

/** At each step by turns. */
const atEachStep = (how: Strike["how"], ms = 0): Storm => ({
	...MIXED,
	strikes: STEPS.map((step) => ({ step, how, ms })),
	every: 60,
	blockedMs: 8,
});
const inTool = (how: Strike["how"], ms: number): Strike => ({
	step: "in the tool",
	how,
	ms,
});

const STORMS: readonly (Storm & { name: string; selected?: number })[] = [
	{
		name: "workers are killed, at each step of the next call",
		selected: 1,
		...atEachStep("kill"),
	},
	{
		name: "workers are stopped and continued, at each step of the next call",
		selected: 1,
		...atEachStep("stop"),
	},
	{
		name: "workers are stopped, at each step of the next call, until they are replaced as hung",
		...atEachStep("stop"),
		calls: 600,
		heartbeat: { intervalMs: 1_000, hungAfterMs: 2_000 },
	},
	{
		name: "workers hang in C with Python's lock held, at each step of the next call",
		...atEachStep("hang", 40),
	},
	{
		name: "workers are killed and stopped at any moment",
		...MIXED,
		outside: true,
		calls: 4_000,
	},
	{
		name: "calls are taken back when their callers abort them",
		size: 1,
		aborted: 0.1,
	},
	{
		name: "calls are taken back for more urgent ones",
		size: 1,
		urgent: 0.1,
	},
	{
		name: "calls are taken back by an idle worker",
		strikes: [inTool("compute", 0.4)],
		every: 1,
	},
	{
		name: "calls that wait behind a slow one are taken back; the slow one sleeps, computes or is in C code",
		strikes: [inTool("sleep", 20), inTool("compute", 20), inTool("hang", 20)],
		every: 100,
	},
	{
		name: "the host is killed",
		selected: 1,
		...MIXED,
		calls: 1_000_000,
		hostDiesAfter: 600,
	},
];

export const callsAhead: readonly ChaosCase[] = family(
	"calls sent ahead: each settles once, a call that ended as not run never begins, none begins twice",
	[GUARD],
	STORMS.flatMap(({ name, selected, ...storm }) =>
		(["framed", "grpc"] as const).map((transport) => ({
			name: `${transport}: ${name}`,
			rounds: 5,
			...(selected && transport === "framed" && { selected }),
			round: (stage: Stage) => runStorm(stage, transport, storm),
		})),
	),
);

async function runStorm(
	stage: Stage,
	transport: "framed" | "grpc",
	{ outside = false, hostDiesAfter, ...wanted }: Storm,
): Promise<RoundOutcome> {
	// The pool of the calls is another one.
	const pool = { size: { min: 0, max: 1 } };
	const host = await stage.ready({ transport, pool });
	const storm: StormWanted = {
		...{ seed: stage.chance.below(2 ** 31), calls: CALLS, size: 2 },
		...{ strikes: [], every: CALLS, aborted: 0, urgent: 0, limited: 0 },
		blockedMs: 0,
		...wanted,
	};
	const over = new AbortController();
	const made = host.order("callsAhead", storm);
	const disturbed =
		storm.heartbeat === undefined
			? disturb(stage, outside, over.signal)
			: undefined;
	const counts = await (hostDiesAfter === undefined
		? made
		: untilSettled(stage, hostDiesAfter, made)
	).finally(() => over.abort());
	await disturbed;
	const { goneMs, ...ending } = await stage.untilGone(host.kill());
	const notes = readNotes(stage.directory);
	assertHappened(notes, storm);
	return {
		...ending,
		...(hostDiesAfter !== undefined && { goneMs }),
		broken: [
			...contradictions(notes),
			...unless(
				counts === undefined ||
					(counts.made === notes.settled.length &&
						counts.made === counts.settled),
				`${counts?.made} calls were made, ${notes.settled.length} ended for their callers, ${counts?.settled} as the pool reports.`,
			),
		],
	};
}

/** Resolves at some moment after so many calls have ended. */
async function untilSettled(
	stage: Stage,
	count: number,
	made: Promise<unknown>,
): Promise<undefined> {
	while (readNotes(stage.directory).settled.length < count)
		await Promise.race([made, sleep(20)]);
	await sleep(stage.chance.below(200));
}

/**
 * Continues each worker that was stopped, after a while. With `outside` it stops and kills workers, too: each time when
 * some calls more have ended, so that workers become ready in between.
 */
async function disturb(
	stage: Stage,
	outside: boolean,
	over: AbortSignal,
): Promise<void> {
	const { chance, witness } = stage;
	let [settled, next] = [0, 1];
	while (!over.aborted) {
		await sleep(2);
		const workers = witness.living("worker").flatMap((each) => {
			const { process } = each;
			return process !== undefined && lives(process) ? [process] : [];
		});
		if (outside) settled = readNotes(stage.directory).settled.length;
		if (settled >= next && workers.length > 0) {
			next = settled + 50 + chance.below(200);
			signal(chance.pick(workers).pid, chance.of(0.3) ? "SIGKILL" : "SIGSTOP");
		}
		for (const worker of workers) {
			if (look(worker.pid)?.stopped !== true) continue;
			await sleep(chance.below(STOPPED_MS));
			if (outside && chance.of(0.3)) end(worker);
			else if (lives(worker)) signal(worker.pid, "SIGCONT");
		}
	}
}

/** @throws Error if the round did not create its situation. */
function assertHappened(notes: CallNotes, storm: StormWanted): void {
	const { settled, struck } = notes;
	const last = settled.at(-1);
	const ended = (ending: string): number =>
		settled.filter((call) => call.ending === ending).length;
	const missing = [
		...storm.strikes
			.map(({ step }) => step)
			.filter((step) => !struck.includes(step)),
		...unless((last?.prefetched ?? 0) > settled.length / 20, "sent ahead"),
		...unless((last?.recalled ?? 0) > 0, "taken back"),
		...unless(storm.aborted === 0 || ended("CALL_ABORTED") > 0, "aborted"),
		// A pool that always says "maybe" would never be wrong, so that is checked too.
		...unless(ended("ok") > settled.length / 2, "half of all ended well"),
	];
	if (missing.length > 0)
		throw new Error(
			`Not enough happened: ${missing.join(", ")}; ${settled.length} calls, ${JSON.stringify(last)}.`,
		);
}
