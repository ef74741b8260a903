import type {
	ControlClient,
	ControlError,
	LogFilter,
	LogLine,
	RunningCall,
	RunSnapshot,
	ServedState,
	WorkerSnapshot,
} from "@snakepit/control";
import type {
	FailedCall,
	haltedProcess,
	RunHistory,
} from "@snakepit/core/inspect";
import { CommandFailed } from "../command/failures.ts";
import { detailsOf } from "../runs/calls-command.ts";
import {
	stoppedWorkers,
	viewWith,
	viewWithout,
} from "../runs/find-programs.ts";
import { runMeant } from "../runs/named-run.ts";
import { chosenLedgers } from "../runs/other-ledgers.ts";
import {
	counted,
	dayAndTime,
	duration,
	placed,
	plainText,
	whole,
} from "../wording/figures.ts";
import {
	type LivingProgram,
	type ProgramView,
	programStatus,
	statusOf,
} from "../wording/program-status.ts";
import { historyEntries, lasted, runEnd } from "../wording/run-history.ts";
import { lineText } from "./logs.ts";

/** The run that something belongs to. */
interface RunAbout {
	readonly runId: string;
	readonly pid: number;
	readonly program: string | null;
	readonly dataDir: string | null;
	readonly startedAtMs: number;
	readonly endedAtMs: number | null;
	/** As the ledger has it: `running`, `host_died`, `terminated`. */
	readonly state: string;
}

interface Found {
	readonly run: RunAbout;
	/** What is wrong with a program that lives and tells nothing, in a few words: `stopped`, `does not answer`. */
	readonly condition: string | null;
	/** Why something is missing that a living program would say. */
	readonly notes: readonly string[];
	/** What else has this id, in older runs. */
	readonly others: readonly { readonly runId: string; readonly kind: string }[];
}

/** Everything that is known about one id. */
export type Inspected =
	| (Found & {
			readonly kind: "run";
			readonly verdict: string | null;
			readonly live: RunSnapshot | null;
			readonly recorded: RunHistory | null;
	  })
	| (Found & {
			readonly kind: "worker";
			readonly pool: string;
			readonly workerId: string;
			/** Its processes that live: two while it is replaced. */
			readonly live: readonly WorkerSnapshot[];
			/** Its processes in the ledger, the latest first. */
			readonly recorded: RunHistory["workers"];
			readonly incidents: RunHistory["incidents"];
			readonly failedCalls: readonly FailedCall[];
			readonly lines: readonly LogLine[];
	  })
	| (Found & {
			readonly kind: "call";
			readonly pool: string;
			readonly callId: string;
			readonly live: (RunningCall & { readonly workerId: string }) | null;
			readonly failed: FailedCall | null;
			readonly lines: readonly LogLine[];
	  });

export interface InspectOptions {
	readonly run?: string;
	readonly dataDir?: string;
}

/** A run, as its program and its ledger know it. */
interface KnownRun {
	readonly about: RunAbout;
	readonly client: ControlClient | undefined;
	readonly snapshot: RunSnapshot | undefined;
	readonly verdict: string | undefined;
	readonly condition?: string | undefined;
	readonly recorded: RunHistory | undefined;
	readonly notes: readonly string[];
}

const LINES = 50;
/** A shorter beginning of a run's id would often fit by chance. */
const SHORTEST_RUN_ID = 3;
const SILENT_MS = 2_000;

/**
 * Finds a run, a worker or a call: among living programs, and in the ledger. Of several, the one in the newest run.
 *
 * @param id of a run (or the beginning of it), of a worker or one process of it, or of a call: `c12`, or `pool/c12`.
 * @throws CommandFailed if there is none.
 */
export async function inspect(
	id: string,
	options: InspectOptions,
): Promise<Inspected> {
	const { dataDir } = options;
	const run =
		options.run === undefined
			? undefined
			: await runMeant(options.run, dataDir);
	const wanted = { ...options, ...(run !== undefined && { run }) };
	const runs = await knownRuns(wanted);
	const matchesAnywhere = async (id: string): Promise<readonly Match[]> => {
		const found = await matchesOf(runs, id);
		return found.length === 0 && dataDir === undefined
			? await matchesOf(await runsElsewhere(wanted), id)
			: found;
	};
	try {
		const found = await matchesAnywhere(id);
		const meant = found.length === 0 ? await runMeant(id, dataDir) : id;
		const matches = meant === id ? found : await matchesAnywhere(meant);
		const [first, ...rest] = matches;
		if (first === undefined) throw nothingKnown(id, options);
		const others = rest.map(({ kind, known }) => {
			return { kind, runId: known.about.runId };
		});
		return await described(first, others);
	} finally {
		for (const { client } of runs) client?.[Symbol.dispose]();
	}
}

async function matchesOf(
	runs: readonly KnownRun[],
	id: string,
): Promise<readonly Match[]> {
	return (await Promise.all(runs.map((run) => matchesIn(run, id)))).flat();
}

function nothingKnown(id: string, { run }: InspectOptions): CommandFailed {
	const inRun = run === undefined ? "" : ` in run ${run}`;
	const call = /^(.+\/)?c\d+$/.test(id)
		? " Only the last 500 failed calls of a run are kept, and of many that fail alike a few a second."
		: "";
	const short =
		id.length < SHORTEST_RUN_ID
			? ` Of the id of a run, at least ${SHORTEST_RUN_ID} characters are needed.`
			: "";
	return new CommandFailed(
		"absent",
		`Nothing is known of "${id}": no run or worker has this id, and no call that runs or has failed${inRun}.${call}${short} Lists: snakepit ps, snakepit history, snakepit calls --failed.`,
	);
}

/** The runs in ledgers that programs have chosen themselves, newest first. */
async function runsElsewhere({
	run = "",
}: InspectOptions): Promise<readonly KnownRun[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const known: KnownRun[] = [];
	for (const dataDir of await chosenLedgers())
		for await (const each of readHistory({ dataDir }))
			if (each.runId.startsWith(run)) known.push(recordedRun(each, dataDir));
	return known.toSorted(byStart);
}

function byStart(a: KnownRun, b: KnownRun): number {
	return b.about.startedAtMs - a.about.startedAtMs;
}

/** A run as its ledger alone has it. */
function recordedRun(run: RunHistory, dataDir: string | undefined): KnownRun {
	const { runId, owner, state, program, startedAt, endedAt } = run;
	return {
		about: {
			...{ runId, pid: owner.pid, state },
			...{ program: program?.name ?? null, dataDir: dataDir ?? null },
			...{ startedAtMs: startedAt, endedAtMs: endedAt ?? null },
		},
		...{ client: undefined, snapshot: undefined, verdict: undefined },
		recorded: run,
		notes:
			state === "running"
				? ["The program lives, and cannot be attached to: its control is off."]
				: [],
	};
}

/** Newest first. */
async function knownRuns({
	run = "",
	dataDir,
}: InspectOptions): Promise<readonly KnownRun[]> {
	const { attach, findRuns } = await import("@snakepit/control");
	const { haltedProcess, readHistory } = await import("@snakepit/core/inspect");
	const living = (await findRuns(dataDir)).filter(({ runId }) =>
		runId.startsWith(run),
	);
	const directories = new Set(
		dataDir === undefined
			? [undefined, ...living.map((each) => each.dataDir)]
			: [dataDir],
	);
	const recorded = new Map<string, RunHistory>();
	for (const directory of directories)
		for await (const each of readHistory({ dataDir: directory }))
			if (each.runId.startsWith(run)) recorded.set(each.runId, each);
	const known = await Promise.all(
		living.map(async (found): Promise<KnownRun> => {
			const { runId, pid, program, startedAtMs } = found;
			const history = recorded.get(runId);
			recorded.delete(runId);
			const about: RunAbout = {
				...{ runId, pid, program, dataDir: found.dataDir, startedAtMs },
				...{ endedAtMs: null, state: "running" },
			};
			const client = await attach({
				...{ run: runId, dataDir: found.dataDir, silentMs: SILENT_MS },
				by: `snakepit inspect (pid ${process.pid})`,
			}).catch(() => undefined);
			// One that is stopped is not waited for.
			const halted = haltedProcess(pid);
			const answer =
				halted === "no"
					? await client?.state().catch((error: ControlError) => error)
					: undefined;
			const state = answer instanceof Error ? undefined : answer;
			const how = halted === "no" ? haltedProcess(pid) : halted;
			const view = viewOfAnswer(answer, how);
			const facts: LivingProgram = {
				...{ kind: "living", runId, pid, program, view, startedAtMs },
				dataDir: found.dataDir,
				ledger: { kind: "named", dataDir: found.dataDir },
				stoppedWorkers: state ? stoppedWorkers(state, haltedProcess) : [],
			};
			const status = programStatus(facts, "are short");
			const verdict = statusOf([{ facts, status }]).text;
			if (state === undefined) client?.[Symbol.dispose]();
			return {
				...{ about, client: state && client, recorded: history },
				...{ snapshot: state?.run, verdict },
				condition: state === undefined ? status.words : undefined,
				notes: state === undefined ? [verdict] : [],
			};
		}),
	);
	const ofLedger = [...recorded.values()].map((run) =>
		recordedRun(run, dataDir),
	);
	return [...known, ...ofLedger].toSorted(byStart);
}

function viewOfAnswer(
	answer: ServedState | ControlError | undefined,
	halted: ReturnType<typeof haltedProcess>,
): ProgramView {
	if (answer !== undefined && !(answer instanceof Error))
		return viewWith(answer);
	if (halted !== "no") return { kind: "halted", how: halted };
	return answer === undefined
		? { kind: "off", workers: undefined }
		: viewWithout(answer);
}

interface Match {
	readonly kind: Inspected["kind"];
	readonly known: KnownRun;
	readonly pool: string;
	/** Of a worker, or of a call. */
	readonly id: string;
	/** One process of a worker; `undefined` for all. */
	readonly incarnation: string | undefined;
}

async function matchesIn(
	known: KnownRun,
	id: string,
): Promise<readonly Match[]> {
	const { about, client, snapshot, recorded } = known;
	const none = { pool: "", incarnation: undefined };
	if (id.length >= SHORTEST_RUN_ID && about.runId.startsWith(id))
		return [{ ...none, kind: "run", known, id: about.runId }];
	const workers = [
		...(snapshot?.pools ?? []).flatMap(({ pool, workers }) =>
			workers.map((worker) => ({ ...worker, pool })),
		),
		...(recorded?.workers ?? []),
	];
	const worker = workers.find(
		({ workerId, incarnation }) => workerId === id || incarnation === id,
	);
	if (worker !== undefined) {
		const { pool, workerId, incarnation } = worker;
		const one = incarnation === id ? incarnation : undefined;
		return [{ kind: "worker", known, pool, id: workerId, incarnation: one }];
	}
	const slash = id.lastIndexOf("/");
	const named = slash < 0 ? undefined : id.slice(0, slash);
	const callId = id.slice(slash + 1);
	if (!/^c\d+$/.test(callId)) return [];
	// A call that has succeeded may have printed something.
	const lines = await lastLines(client, { call: callId });
	const calls = [
		...lines.map(({ pool }) => ({ pool, callId })),
		...(snapshot?.pools ?? []).flatMap(({ pool, workers }) =>
			workers.flatMap(({ running }) =>
				running.map((call) => ({ pool, callId: call.callId })),
			),
		),
		...(recorded?.failedCalls ?? []),
	].filter(
		(call) =>
			call.callId === callId && (named === undefined || call.pool === named),
	);
	const pools = new Set(calls.map(({ pool }) => pool));
	return [...pools].map((pool) => {
		return { kind: "call", known, pool, id: callId, incarnation: undefined };
	});
}

async function described(
	{ kind, known, pool, id, incarnation }: Match,
	others: Found["others"],
): Promise<Inspected> {
	const { about, client, snapshot, verdict = null, recorded, notes } = known;
	const { condition = null } = known;
	const found: Found = { run: about, condition, notes, others };
	if (kind === "run")
		return {
			...{ kind, ...found, verdict },
			// The verdict says it.
			notes: notes.filter((note) => note !== verdict),
			...{ live: snapshot ?? null, recorded: recorded ?? null },
		};
	const workers =
		snapshot?.pools.find((each) => each.pool === pool)?.workers ?? [];
	const failedCalls = (recorded?.failedCalls ?? []).filter(
		(call) => call.pool === pool,
	);
	if (kind === "call") {
		const live = workers.flatMap(({ workerId, running }) =>
			running.flatMap((call) =>
				call.callId === id ? [{ ...call, workerId }] : [],
			),
		);
		return {
			...{ kind, ...found, pool, callId: id, live: live[0] ?? null },
			failed: failedCalls.findLast(({ callId }) => callId === id) ?? null,
			lines: await lastLines(client, { pool, call: id }),
		};
	}
	const isIt = (worker: {
		workerId?: string | undefined;
		incarnation?: string | undefined;
	}) =>
		incarnation === undefined
			? worker.workerId === id
			: worker.incarnation === incarnation;
	return {
		...{ kind, ...found, pool, workerId: id, live: workers.filter(isIt) },
		recorded: (recorded?.workers ?? []).filter(isIt).toReversed(),
		incidents: (recorded?.incidents ?? []).filter((incident) =>
			isIt(incident as { workerId?: string; incarnation?: string }),
		),
		failedCalls: failedCalls.filter(isIt),
		lines: await lastLines(client, { pool, worker: incarnation ?? id }),
	};
}

/** Nothing if the program does not allow it, or has just ended. */
async function lastLines(
	client: ControlClient | undefined,
	filter: Partial<LogFilter>,
): Promise<readonly LogLine[]> {
	const lines: LogLine[] = [];
	try {
		const kept = client?.logs({ ...filter, tail: LINES, follow: false }) ?? [];
		for await (const update of kept)
			if (update.kind === "line") lines.push(update.line);
	} catch {
		// What is known besides is still worth showing.
	}
	return lines;
}

/** For people. */
export function inspectedLines(
	found: Inspected,
	nowMs: number,
): readonly string[] {
	const { run, notes, others } = found;
	const { runId, program, pid, state } = run;
	const condition = found.condition ?? state.replaceAll("_", " ");
	const ofRun = `run ${runId} (${condition}) of ${program ?? "a program"} (pid ${pid})`;
	return [
		...bodyLines(found, ofRun, nowMs),
		...notes,
		...(others.length === 0
			? []
			: [
					`The same id is in ${counted(others.length, "older run")} too: ${others
						.slice(0, 5)
						.map((each) => each.runId)
						.join(", ")}${others.length > 5 ? ", …" : ""}. Choose with --run.`,
				]),
	].map(plainText);
}

function bodyLines(
	found: Inspected,
	ofRun: string,
	nowMs: number,
): readonly string[] {
	switch (found.kind) {
		case "run":
			return runLines(found, ofRun, nowMs);
		case "worker":
			return workerLines(found, ofRun);
		case "call":
			return callLines(found, ofRun);
	}
}

const ENTRIES = 20;

function runLines(
	{ verdict, live, recorded }: Extract<Inspected, { kind: "run" }>,
	ofRun: string,
	nowMs: number,
): readonly string[] {
	if (recorded === null) return [ofRun, `  ${verdict ?? ""}`];
	const { word, detail } = runEnd(recorded);
	const entries = historyEntries(recorded);
	return [
		`${ofRun}: ${verdict ?? `${word}${detail === undefined ? "" : `. ${detail}`}`}`,
		`  began ${dayAndTime(recorded.startedAt)}, lasted ${lasted(recorded, nowMs)}, ${counted(recorded.workerCount, "worker")}, ${failedText(recorded.failedCalls, live)}`,
		...entries
			.slice(0, ENTRIES)
			.map(({ wallMs, text }) => `  ${whenText(wallMs)}  ${text}`),
		...(entries.length > ENTRIES
			? [`  ${entries.length - ENTRIES} more: --json shows all.`]
			: []),
	];
}

/** How many calls failed, as far as that is known, and of how many there is a record. */
function failedText(
	kept: readonly FailedCall[],
	live: RunSnapshot | null,
): string {
	const recorded = kept.reduce((sum, { alike }) => sum + 1 + alike, 0);
	const counts = (live?.pools ?? []).map(
		({ calls }) => calls.failed + calls.timed_out,
	);
	const failed = Math.max(
		recorded,
		counts.reduce((sum, each) => sum + each, 0),
	);
	if (failed === kept.length)
		return `${counted(kept.length, "failed call")} recorded`;
	const isWhole = live !== null;
	return `${isWhole ? "" : "at least "}${counted(failed, "call")} failed, of the last ${whole(kept.length)} a record is kept`;
}

function workerLines(
	{
		pool,
		workerId,
		live,
		recorded,
		run,
		failedCalls,
		lines,
	}: Extract<Inspected, { kind: "worker" }>,
	ofRun: string,
): readonly string[] {
	const history = {
		...{ state: run.state as RunHistory["state"], incidents: [] },
		workers: recorded,
	} as Pick<RunHistory, "state" | "incidents" | "workers"> as RunHistory;
	const ended = historyEntries(history).filter(
		({ wallMs }) => wallMs !== undefined,
	);
	return [
		`worker ${workerId} of pool ${pool}, ${ofRun}`,
		...live.flatMap((worker) => [
			`  ${livingText(worker)}`,
			...worker.running.flatMap((call) =>
				runningLines(call).map((line) => `    ${line}`),
			),
		]),
		...ended
			.slice(0, ENTRIES)
			.flatMap(({ wallMs, text, lines: tail }) => [
				`  ${whenText(wallMs)}  ${text}`,
				...tail.map((line) => `      ${line}`),
			]),
		...failedLines(failedCalls).map((line) => `  ${line}`),
		...outputLines(lines),
	];
}

/** A process of a worker that lives, and what it does. */
function livingText(worker: WorkerSnapshot): string {
	const { incarnation, location, pid, state, running } = worker;
	const { readyMs, callsTaken, heartbeat } = worker;
	const busy =
		running.length === 0
			? "idle"
			: `busy with ${counted(running.length, "call")}`;
	const up = state === "starting" ? "" : `, up for ${duration(readyMs)}`;
	const answer =
		heartbeat === null
			? ""
			: `, last answer ${duration(heartbeat.silentMs)} ago`;
	return `${placed(incarnation, location)} (pid ${pid ?? "none yet"}): ${state === "ready" ? busy : state}${up}, ${counted(callsTaken, "call")} taken${answer}`;
}

/** A call that runs, with how long others of its command ran, and its arguments as far as the program shows them. */
function runningLines({
	callId,
	command,
	forMs,
	attempt,
	usual,
	args,
}: RunningCall): readonly string[] {
	const again = attempt > 1 ? `, attempt ${attempt}` : "";
	return [
		attempt === 0
			? `has prefetched ${command} (${callId}), ${duration(forMs)} ago`
			: `runs ${command} (${callId}) for ${duration(forMs)}${again}${usualText(usual)}`,
		...argumentLines(args).map((line) => `  ${line}`),
	];
}

function usualText(usual: RunningCall["usual"] | undefined): string {
	if (!usual?.calls) return "";
	const { calls, longestMs } = usual;
	return calls === 1
		? `; the one before took ${duration(longestMs)}`
		: `; the longest of the last ${calls} took ${duration(longestMs)}`;
}

function argumentLines(args: unknown): readonly string[] {
	return args === undefined ? [] : [`arguments: ${JSON.stringify(args)}`];
}

function outputLines(lines: readonly LogLine[]): readonly string[] {
	return lines.length === 0
		? []
		: [
				"  its last lines:",
				...lines.map(lineText).map((line) => `    ${line}`),
			];
}

function callLines(
	{ pool, callId, live, failed, lines }: Extract<Inspected, { kind: "call" }>,
	ofRun: string,
): readonly string[] {
	return [
		`call ${callId} of pool ${pool}, ${ofRun}`,
		...(live === null
			? []
			: [
					`  runs ${live.command} on ${live.workerId} for ${duration(live.forMs)}, attempt ${live.attempt}${live.cancelled ? "; its caller has gone" : ""}${usualText(live.usual)}`,
					...argumentLines(live.args).map((line) => `    ${line}`),
				]),
		...(failed === null
			? []
			: [
					...failedLines([{ ...failed, message: undefined }]),
					...detailsOf(failed, true).map((line) => `  ${line}`),
				].map((line) => `  ${line}`)),
		...outputLines(lines),
	];
}

function failedLines(calls: readonly FailedCall[]): readonly string[] {
	return calls
		.slice(-ENTRIES)
		.map(
			({
				wallMs,
				callId,
				command = "a call",
				code,
				message = "",
				workerId,
				attempts,
			}) => {
				const on = workerId === undefined ? "" : ` on ${workerId}`;
				return `${whenText(wallMs)}  ${command} (${callId})${on} failed after ${counted(attempts, "attempt")}: ${code} ${message}`.trimEnd();
			},
		);
}

function whenText(wallMs: number | undefined): string {
	return wallMs === undefined || !Number.isFinite(wallMs)
		? "now"
		: dayAndTime(wallMs);
}
