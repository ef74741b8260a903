import type { RunHistory } from "@snakepit/core/inspect";

const RUNS = 50;
const WORKERS = 100;

/** Reads the latest runs of a data directory, living and dead. The ledger is loaded only when the page shows it. */
export async function readRuns(
	dataDir: string | undefined,
): Promise<readonly RunHistory[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const options = { dataDir, runs: RUNS, workersPerRun: WORKERS };
	return await Array.fromAsync(readHistory(options));
}
