import {
	attach,
	type ControlClient,
	ControlError,
	type FailedCall,
	type FoundRun,
	findRuns,
} from "@snakepit/control";
import type { RunHistory } from "@snakepit/core/inspect";

/** A run as the page lists it. */
export type ListedRun = Omit<FoundRun, "directory">;

/** A call that failed, and its run. */
export interface RecordedCall extends FailedCall {
	readonly runId: string;
}

/** The runs that a dashboard shows. */
export interface RunSource {
	/** Living runs, newest first. */
	list(): Promise<readonly ListedRun[]>;
	/**
	 * @param by who asks, for the program's events.
	 * @throws ControlError `NO_SUCH_RUN`.
	 */
	attach(runId: string, by?: string): Promise<ControlClient>;
	/** Runs of the ledger, newest first, living and dead. */
	history(): Promise<readonly RunHistory[]>;
}

interface RunChoice {
	/** Only runs of this data directory. */
	readonly dataDir?: string | undefined;
	/** Only the run whose id begins with this. */
	readonly run?: string | undefined;
}

/** A program that does not answer for longer is shown as silent. */
const SILENT_MS = 2_000;
const RUNS = 50;
const WORKERS = 100;
/** Of all runs together. */
const FAILED_CALLS = 1_000;

/** The runs of this user that can be attached to, and the ledgers in which they are. */
export function runsOfUser({ dataDir, run = "" }: RunChoice): RunSource {
	const living = async (): Promise<readonly FoundRun[]> =>
		(await findRuns(dataDir)).filter(({ runId }) => runId.startsWith(run));
	return {
		list: async () => (await living()).map(listed),
		attach: async (runId, by) => {
			if (!runId.startsWith(run))
				throw noSuchRun(
					`This dashboard shows runs whose id begins with ${run}.`,
				);
			return await attachTo(runId, dataDir, by);
		},
		history: async () => {
			if (dataDir !== undefined) return await readRuns([dataDir]);
			// A program may keep its ledger elsewhere than where the others do.
			return await readRuns([
				undefined,
				...(await living()).map(({ dataDir }) => dataDir),
			]);
		},
	};
}

/** The runs of this very process, and those that the same program had before. */
export function ownRuns(): RunSource {
	const living = async (): Promise<readonly FoundRun[]> =>
		(await findRuns()).filter(({ pid }) => pid === process.pid);
	return {
		list: async () => (await living()).map(listed),
		attach: async (runId, by) => {
			const own = (await living()).find((run) => run.runId === runId);
			if (own === undefined)
				throw noSuchRun("This dashboard shows runs of its own program.");
			return await attachTo(runId, own.dataDir, by);
		},
		history: async () => {
			const own = await living();
			const ids = new Set(own.map(({ runId }) => runId));
			const all = await readRuns(own.map(({ dataDir }) => dataDir));
			const programs = new Set(
				all.filter(({ runId }) => ids.has(runId)).map(programOf),
			);
			return all.filter((run) => programs.has(programOf(run)));
		},
	};
}

function programOf({ program }: RunHistory): string {
	return JSON.stringify([program?.cwd, program?.name]);
}

function listed({ directory: _, ...rest }: FoundRun): ListedRun {
	return rest;
}

async function attachTo(
	run: string,
	dataDir: string | undefined,
	by = "snakepit dash",
): Promise<ControlClient> {
	return await attach({ dataDir, run, by, silentMs: SILENT_MS });
}

function noSuchRun(message: string): ControlError {
	return new ControlError({ code: "NO_SUCH_RUN", message });
}

/** Reads the latest runs of data directories, newest first. The ledger is loaded only when the page shows it. */
async function readRuns(
	dataDirs: readonly (string | undefined)[],
): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const byId = new Map<string, RunHistory>();
	for (const dataDir of new Set(dataDirs)) {
		const options = { dataDir, runs: RUNS, workersPerRun: WORKERS };
		for await (const run of readHistory(options)) byId.set(run.runId, run);
	}
	return [...byId.values()]
		.toSorted((a, b) => b.startedAt - a.startedAt)
		.slice(0, RUNS);
}

/** The failed calls of the runs of a source, latest first. A run that lives says itself which; its file may be behind. */
export async function failedCalls(
	runs: RunSource,
): Promise<readonly RecordedCall[]> {
	const byRun = new Map<string, readonly FailedCall[]>();
	for (const run of await runs.history()) byRun.set(run.runId, run.failedCalls);
	for (const { runId } of await runs.list()) {
		const known = await ofLivingRun(runs, runId);
		if (known !== undefined) byRun.set(runId, known);
	}
	return [...byRun]
		.flatMap(([runId, calls]) => calls.map((call) => ({ ...call, runId })))
		.toSorted((a, b) => b.wallMs - a.wallMs)
		.slice(0, FAILED_CALLS);
}

/** `undefined` where the run cannot say: it is stopped, has just ended, or does not allow it. */
async function ofLivingRun(
	runs: RunSource,
	runId: string,
): Promise<readonly FailedCall[] | undefined> {
	try {
		using client = await runs.attach(runId);
		return await client.failedCalls();
	} catch (error) {
		if (error instanceof ControlError) return undefined;
		throw error;
	}
}
