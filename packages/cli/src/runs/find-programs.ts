import type { ControlError, FoundRun, ServedState } from "@snakepit/control";
import type {
	LivingRun,
	RunHistory,
	Surroundings,
} from "@snakepit/core/inspect";
import type {
	LedgerPlace,
	LivingProgram,
	ProgramFacts,
	ProgramView,
} from "../wording/program-status.ts";

/** A program that does not answer within this time is silent. */
const SILENT_MS = 2_000;

/** Which programs are looked for. */
export interface ProgramsWanted {
	/** Only those of this data directory. */
	readonly dataDir?: string | undefined;
	/** Who asks, for the events of the programs. */
	readonly by: string;
}

/** Finds every program that lives or was left by its death, and asks each of them for its state. */
export async function findPrograms({
	dataDir,
	by,
}: ProgramsWanted): Promise<readonly ProgramFacts[]> {
	const { findRuns } = await import("@snakepit/control");
	const controlled = await findRuns(dataDir);
	return await programsBeside(controlled, { dataDir, by }, "asked");
}

/**
 * Finds every program, of which some are found already.
 *
 * @param controlled those that take clients.
 * @param manner `"asked"`: these are among the programs, with their state. `"left_out"`: only the others are.
 */
export async function programsBeside(
	controlled: readonly FoundRun[],
	{ dataDir, by }: ProgramsWanted,
	manner: "asked" | "left_out",
): Promise<readonly ProgramFacts[]> {
	const { lookAround } = await import("@snakepit/core/inspect");
	const directories = new Set(controlled.map((run) => run.dataDir));
	const around = await lookAround(dataDir, [...directories]);
	const living = livingOnes(controlled, around).filter(
		({ found }) => manner === "asked" || found === undefined,
	);
	const histories = await historiesOf(
		living.flatMap(({ found, dataDir }) =>
			found === undefined && dataDir !== undefined ? [dataDir] : [],
		),
	);
	const byDefault = around.directories.find(
		({ origin }) => origin === "default",
	)?.dataDir;
	const programs = await Promise.all(
		living.map(async (each) => ({
			...(await programFacts(each, histories, by)),
			ledger: ledgerPlace(each.dataDir, byDefault),
		})),
	);
	return [
		...programs.toSorted((a, b) => (b.startedAtMs ?? 0) - (a.startedAtMs ?? 0)),
		...otherFacts(around),
	];
}

/** A run that lives, and where it was found. */
interface LivingOne {
	readonly runId: string;
	readonly pid: number;
	readonly dataDir: string | undefined;
	/** It takes clients. */
	readonly found: FoundRun | undefined;
	readonly halted: LivingRun["halted"] | undefined;
}

/** Two data directories may have the same run id. */
function keyOf({
	runId,
	pid,
}: {
	readonly runId: string;
	readonly pid: number;
}): string {
	return `${runId} ${pid}`;
}

function livingOnes(
	controlled: readonly FoundRun[],
	{ directories, elsewhere }: Surroundings,
): readonly LivingOne[] {
	const byKey = new Map<string, LivingOne>();
	for (const { runId, pid, program, halted } of elsewhere)
		if (program === "lives")
			byKey.set(keyOf({ runId, pid }), {
				...{ runId, pid, halted, dataDir: undefined, found: undefined },
			});
	for (const { dataDir, living } of directories)
		for (const { runId, pid, halted } of living)
			byKey.set(keyOf({ runId, pid }), {
				...{ runId, pid, halted, dataDir, found: undefined },
			});
	for (const found of controlled) {
		const { runId, pid, dataDir } = found;
		const key = keyOf(found);
		byKey.set(key, {
			...{ runId, pid, dataDir, found, halted: byKey.get(key)?.halted },
		});
	}
	return [...byKey.values()];
}

/** By run and pid. */
async function historiesOf(
	dataDirs: readonly string[],
): Promise<ReadonlyMap<string, RunHistory>> {
	const histories = new Map<string, RunHistory>();
	if (dataDirs.length === 0) return histories;
	const { readHistory } = await import("@snakepit/core/inspect");
	for (const dataDir of new Set(dataDirs))
		for await (const run of readHistory({ dataDir, only: "living" }))
			histories.set(keyOf({ runId: run.runId, pid: run.owner.pid }), run);
	return histories;
}

function ledgerPlace(
	dataDir: string | undefined,
	byDefault: string | undefined,
): LedgerPlace {
	if (dataDir === undefined) return { kind: "unknown" };
	return dataDir === byDefault
		? { kind: "default" }
		: { kind: "named", dataDir };
}

async function programFacts(
	{ runId, pid, dataDir, found, halted }: LivingOne,
	histories: ReadonlyMap<string, RunHistory>,
	by: string,
): Promise<Omit<LivingProgram, "ledger">> {
	const { haltedProcess } = await import("@snakepit/core/inspect");
	const history = histories.get(keyOf({ runId, pid }));
	const haltedView = (how = haltedProcess(pid)): ProgramView | undefined =>
		how === "no" ? undefined : { kind: "halted", how };
	let view: ProgramView =
		haltedView(halted) ??
		(found === undefined
			? { kind: "off", workers: history && workersOf(history) }
			: await viewOf(found, by));
	// It may have been stopped meanwhile.
	if (view.kind === "silent") view = haltedView() ?? view;
	return {
		...{ kind: "living", runId, pid, dataDir, view },
		program: found?.program ?? history?.program?.name,
		startedAtMs: found?.startedAtMs ?? history?.startedAt,
		stoppedWorkers:
			view.kind === "seen" ? stoppedWorkers(view.state, haltedProcess) : [],
	};
}

/** A preloaded parent or a companion is recorded like a worker, but takes no calls. */
function workersOf({ workers }: RunHistory): number {
	return workers.filter(
		({ workerId, status }) => status !== "ended" && /-\d+$/.test(workerId),
	).length;
}

async function viewOf(found: FoundRun, by: string): Promise<ProgramView> {
	const { clientOf } = await import("@snakepit/control");
	using client = clientOf(found, { by, silentMs: SILENT_MS });
	if (client === undefined) return { kind: "off", workers: undefined };
	try {
		return viewWith(await client.state());
	} catch (error) {
		return viewWithout(error as ControlError);
	}
}

/** What can be seen of a program that told its state. It may be of another version. */
export function viewWith(state: ServedState): ProgramView {
	const { run, verdict } = state;
	const isKnown =
		Array.isArray(verdict?.findings) &&
		run?.pools?.every(({ starts }) => starts !== undefined);
	return isKnown
		? { kind: "seen", state }
		: {
				kind: "refused",
				message: `it is of another version of Snakepit (${run?.versions?.["snakepit"] ?? "unknown"}). Use the command snakepit of that version.`,
			};
}

/** What can be seen of a program that did not tell its state. */
export function viewWithout({
	code,
	message,
}: Pick<ControlError, "code" | "message">): ProgramView {
	switch (code) {
		case "HOST_SILENT":
			return { kind: "silent", forMs: SILENT_MS };
		case "HOST_GONE":
			return { kind: "off", workers: undefined };
		default:
			return { kind: "refused", message };
	}
}

/** The pids of workers that were stopped by a signal, of those that may be: they do not answer, or are not asked. */
export function stoppedWorkers(
	{ run }: Pick<ServedState, "run">,
	halted: (pid: number) => LivingRun["halted"],
): readonly number[] {
	return run.pools.flatMap(({ workers }) =>
		workers.flatMap(({ pid, location, heartbeat }) => {
			if (pid === null || location !== null) return [];
			if (heartbeat !== null && heartbeat.missedInARow === 0) return [];
			return halted(pid) === "stopped" ? [pid] : [];
		}),
	);
}

function otherFacts({
	directories,
	elsewhere,
	unreadable,
	ofOthers,
}: Surroundings): readonly ProgramFacts[] {
	return [
		...directories.flatMap(
			({ dataDir, origin, dead, unclear }): ProgramFacts[] => [
				...dead.map(
					({ runId, program, orphans, spared }): ProgramFacts => ({
						...{ kind: "dead", runId, program },
						ledger:
							origin === "default"
								? { kind: "default" }
								: { kind: "named", dataDir },
						left: orphans.map(({ pid }) => pid),
						spared: spared.map(({ pid }) => pid),
					}),
				),
				...unclear.map(
					({ runId, reason }): ProgramFacts => ({
						...{ kind: "unclear", runId, reason, dataDir },
					}),
				),
			],
		),
		...elsewhere.flatMap(({ runId, program, processes }): ProgramFacts[] =>
			program === "lives"
				? []
				: [
						{
							...{ kind: "dead", runId, left: processes, spared: [] },
							...{ program: undefined, ledger: { kind: "unknown" } },
						},
					],
		),
		...unreadable.map(
			(ledger): ProgramFacts => ({ kind: "unreadable", ...ledger }),
		),
		...ofOthers.map((run): ProgramFacts => ({ kind: "of_another", ...run })),
	];
}
