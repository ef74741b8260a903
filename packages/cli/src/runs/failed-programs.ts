import { duration } from "../wording/figures.ts";
import type { JudgedProgram, ProgramFacts } from "../wording/program-status.ts";
import { badEnd } from "../wording/run-history.ts";
import { recordedRuns } from "./other-ledgers.ts";

/** A program that ended badly is named for this long. */
const RECENT_MS = 3_600_000;
const MOST_NAMED = 3;

/** A run whose program ended badly: it crashed, was killed, ran out of memory, or had another exit status than 0. */
export interface FailedProgram {
	readonly runId: string;
	readonly program: string | undefined;
	readonly endedAtMs: number;
	/** In two or three words. */
	readonly words: string;
	/** Why, without a full stop. */
	readonly cause: string;
	/** What has more, as a command. */
	readonly command: string;
}

/**
 * The programs that ended badly in the last hour, latest first: those of which no newer run lives or has ended well.
 *
 * @param dataDir by default the usual ledger, and those that programs have chosen themselves.
 */
export async function failedPrograms(
	{
		dataDir,
		run = "",
	}: { readonly dataDir?: string | undefined; readonly run?: string },
	programs: readonly ProgramFacts[],
): Promise<readonly FailedProgram[]> {
	const since = Date.now() - RECENT_MS;
	const ended = await endedRuns(dataDir, since);
	const better = [
		...programs.flatMap((facts) =>
			facts.kind === "living"
				? [{ name: facts.program, startedAt: facts.startedAtMs ?? 0 }]
				: [],
		),
		...ended.flatMap(({ run, failure }) =>
			failure === undefined
				? [{ name: run.program?.name, startedAt: run.startedAt }]
				: [],
		),
	];
	return ended
		.flatMap(({ run: ended, failure, where }) => {
			const { runId, program, startedAt } = ended;
			if (failure === undefined || failure.wallMs < since) return [];
			if (!runId.startsWith(run)) return [];
			const isBetter = better.some(
				({ name, startedAt: since }) =>
					name !== undefined && name === program?.name && since >= startedAt,
			);
			if (isBetter) return [];
			const { wallMs, ...rest } = failure;
			return [
				{
					...{ runId, program: program?.name, endedAtMs: wallMs, ...rest },
					command: `snakepit history --run ${runId}${where}`,
				},
			];
		})
		.toSorted((a, b) => b.endedAtMs - a.endedAtMs);
}

/** The runs that are over, and how those ended that ended badly. */
async function endedRuns(dataDir: string | undefined, endedSinceMs: number) {
	const recorded = await recordedRuns({
		...{ dataDir, endedSinceMs, workersPerRun: 0, failedCallsPerRun: 0 },
	});
	return recorded
		.filter(({ run }) => run.state === "terminated")
		.map(({ run, where }) => ({ run, where, failure: badEnd(run) }));
}

/** As a part of the verdict: after what is wrong with programs that live. */
export function failedStatus(failed: FailedProgram): JudgedProgram["status"] {
	const { runId, program = "a program", words, cause, command } = failed;
	const subject = `${program} (run ${runId})`;
	const ago = duration(Date.now() - failed.endedAtMs);
	const why = cause === "" ? "" : `: ${cause}`;
	return {
		...{ level: "trouble", words, pools: [] },
		remarks: [
			{
				kind: "failed_program",
				...{ level: "trouble", subject, program: null, pool: null, words },
				text: `${subject} ${words} ${ago} ago${why}.`,
				remedy: `See: ${command}.`,
			},
		],
	};
}

/** The lines below the list, without what the verdict has said already. @param all says how all of them are listed. */
export function failedLines(
	statuses: readonly JudgedProgram["status"][],
	said: unknown,
	all: string,
): readonly string[] {
	const more = statuses.length - MOST_NAMED;
	return [
		...statuses
			.slice(0, MOST_NAMED)
			.flatMap(({ remarks }) => remarks)
			.filter((remark) => remark !== said)
			.map(({ text, remedy }) => `${text} ${remedy}`),
		...(more > 0 ? [`and ${more} more: ${all}`] : []),
	];
}
