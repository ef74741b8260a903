import {
	attach,
	type ControlClient,
	ControlError,
	type FoundRun,
	findRuns,
} from "@snakepit/control";

/** A run as the page lists it. */
export type ListedRun = Omit<FoundRun, "directory">;

/** Where the dashboard finds runs. */
export interface RunSource {
	/** Living runs, newest first. */
	list(): Promise<readonly ListedRun[]>;
	/** @throws ControlError `NO_SUCH_RUN`. */
	attach(runId: string): Promise<ControlClient>;
}

export interface LivingRunsOptions {
	/** Only runs of this data directory. */
	readonly dataDir?: string | undefined;
	/** Only the run whose id begins with this. */
	readonly run?: string | undefined;
}

/** A program that does not answer for longer is shown as silent. */
const SILENT_MS = 2_000;

/** The runs of this user that can be attached to. */
export function livingRuns({
	dataDir,
	run = "",
}: LivingRunsOptions): RunSource {
	return {
		list: async () => {
			const all = await findRuns(dataDir);
			return all
				.filter(({ runId }) => runId.startsWith(run))
				.map(({ directory: _, ...rest }) => rest);
		},
		attach: async (runId) => {
			if (!runId.startsWith(run))
				throw new ControlError({
					code: "NO_SUCH_RUN",
					message: `This dashboard shows runs whose id begins with ${run}.`,
				});
			return await attach({
				...{ dataDir, run: runId, silentMs: SILENT_MS },
				by: `snakepit dash (pid ${process.pid})`,
			});
		},
	};
}
