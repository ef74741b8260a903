import type { RunHistory } from "@snakepit/core/inspect";
import { plainText } from "../wording/plain-text.ts";
import { deathSeen, historyEntries, runEnd } from "../wording/run-history.ts";

/** An end that the host did not want, or an action of a protection. */
export interface ShownIncident {
	/** `undefined` if the host died, no protection saw it, and no program has cleaned up yet. */
	readonly wallMs: number | undefined;
	readonly runId: string;
	readonly text: string;
	/** The last lines of a worker's output. */
	readonly lines: readonly string[];
}

/** The incidents of a run: what went wrong, workers that ended by themselves or were killed, and the end of the host. */
export function incidentsOf(run: RunHistory): readonly ShownIncident[] {
	const { runId, endedAt } = run;
	const entries = historyEntries(run).filter(
		({ tone }) => tone === "bad" || tone === "warn",
	);
	const { tone } = runEnd(run);
	// The recorded end may be the time of the clean-up, long after it died.
	const wallMs = deathSeen(run) ?? endedAt;
	const ofHost =
		tone === "bad" ? [{ wallMs, runId, text: endText(run), lines: [] }] : [];
	return [
		...entries.map(({ wallMs, text, lines }) => ({
			...{ wallMs, runId, text: oneLine(text) },
			lines: withoutBlankStart(lines.map(oneLine)),
		})),
		...ofHost,
	];
}

/** How a run ended, or that it is still running. */
export function endText(run: RunHistory): string {
	const { word, detail } = runEnd(run);
	return detail === undefined ? word : `${word}. ${detail}`;
}

function oneLine(text: string): string {
	return plainText(text).replaceAll("\n", " ");
}

/** The last lines of a longer text may begin with an empty line. */
function withoutBlankStart(lines: readonly string[]): readonly string[] {
	const first = lines.findIndex((line) => line.trim() !== "");
	return first < 0 ? [] : lines.slice(first);
}
