import type { HistoryOptions, RunHistory } from "@snakepit/core/inspect";
import { quoted } from "../command/output.ts";
import { counted, plainText } from "../wording/figures.ts";

/** A ledger that a program of this user has chosen itself. */
export interface OtherLedger {
	readonly dataDir: string;
	/** Runs in it whose program was killed, and nothing has cleaned up after it. */
	readonly died: readonly {
		readonly runId: string;
		readonly program: string | undefined;
	}[];
}

/** So many are looked into, those that were used last. */
const MOST = 20;
const MOST_NAMED = 5;

/** The ledgers that programs have chosen themselves and that are read: those that were used last. */
export async function chosenLedgers(): Promise<readonly string[]> {
	const { chosenDataDirectories } = await import("@snakepit/core/inspect");
	return chosenDataDirectories().slice(0, MOST);
}

/** A run, and the flag with which commands find its ledger; empty for the usual one. */
export interface RecordedRun {
	readonly run: RunHistory;
	readonly where: string;
}

/**
 * The runs of a ledger; by default of the usual one, and of those that programs have chosen themselves. What cannot be
 * read has none here: `snakepit ps` says so.
 */
export async function recordedRuns({
	dataDir,
	...options
}: HistoryOptions): Promise<readonly RecordedRun[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const others = dataDir === undefined ? await chosenLedgers() : [];
	const runs: RecordedRun[] = [];
	for (const directory of [dataDir, ...others]) {
		const where =
			directory === undefined ? "" : ` --data-dir ${quoted(directory)}`;
		try {
			for await (const run of readHistory({ ...options, dataDir: directory }))
				runs.push({ run, where });
		} catch {
			// Said by `snakepit ps`.
		}
	}
	return runs;
}

/** The ledgers that programs with a `dataDir` of their own use, as far as they are known. */
export async function otherLedgers(): Promise<readonly OtherLedger[]> {
	const { readHistory } = await import("@snakepit/core/inspect");
	const ledgers: OtherLedger[] = [];
	for (const dataDir of await chosenLedgers()) {
		const died: { runId: string; program: string | undefined }[] = [];
		const open = readHistory({ dataDir, only: "living", failedCallsPerRun: 0 });
		for await (const { state, runId, program } of open)
			if (state === "host_died") died.push({ runId, program: program?.name });
		ledgers.push({ dataDir, died });
	}
	return ledgers;
}

/** Says where there is more than in the usual ledger: first what died there. */
export function otherLedgerLines(
	ledgers: readonly OtherLedger[],
): readonly string[] {
	const died = ledgers.flatMap(({ dataDir, died }) =>
		died.map(
			({ runId, program = "a program" }) =>
				`Also died: ${program} (run ${runId}). Why: snakepit incidents --run ${runId} --data-dir ${quoted(dataDir)}`,
		),
	);
	const others = ledgers
		.filter(({ died }) => died.length === 0)
		.map(({ dataDir }) => `--data-dir ${quoted(dataDir)}`);
	const more = others.length - MOST_NAMED;
	return [
		...died.slice(0, MOST_NAMED),
		...(died.length > MOST_NAMED
			? [
					`${counted(died.length - MOST_NAMED, "more program")} died: snakepit ps names them.`,
				]
			: []),
		...(others.length === 0
			? []
			: [
					`Other programs have a ledger of their own: ${others.slice(0, MOST_NAMED).join(", ")}${more > 0 ? `, and ${more} more` : ""}.`,
				]),
	].map(plainText);
}
