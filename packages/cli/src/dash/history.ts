import type { RunHistory } from "@snakepit/core/inspect";

type Worker = RunHistory["workers"][number];

/** A run of the ledger, as the page gets it: runs of earlier versions have less. */
export interface ShownRunHistory extends Omit<RunHistory, "workers"> {
	readonly program?:
		| { readonly name: string; readonly cwd: string; readonly node: string }
		| undefined;
	readonly workers: readonly ShownWorker[];
}

interface ShownWorker extends Omit<Worker, "end"> {
	readonly end:
		| (NonNullable<Worker["end"]> & {
				readonly tail?: readonly string[] | undefined;
				readonly lastCommand?: string | undefined;
		  })
		| undefined;
}

const RUNS = 50;
const WORKERS = 100;

/** Reads the latest runs of a data directory, living and dead. The ledger is loaded only when somebody looks at it. */
export async function readRuns(
	dataDir: string | undefined,
): Promise<readonly ShownRunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const runs: ShownRunHistory[] = [];
	const history = readHistory({ dataDir, runs: RUNS, workersPerRun: WORKERS });
	for await (const run of history) runs.push(run);
	return runs;
}
