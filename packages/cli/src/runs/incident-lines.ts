import { table } from "../command/table.ts";
import { dayAndTime } from "../wording/figures.ts";
import type { ShownIncident } from "./incidents.ts";

const MOST = 50;

/**
 * The first 50 incidents as text, one row each.
 *
 * @param withOutput the last lines of each worker's output follow its row; otherwise the row contains only the last
 * line.
 */
export function incidentLines(
	found: readonly ShownIncident[],
	withOutput: boolean,
): readonly string[] {
	if (found.length === 0) return ["No worker and no host ended unexpectedly."];
	const shown = found.slice(0, MOST);
	const [titles = "", ...rows] = table([
		["TIME", "RUN", "WHAT"],
		...shown.map(({ wallMs, runId, text, lines }) => [
			wallMs === undefined ? "unknown" : dayAndTime(wallMs),
			runId,
			withOutput || lines.length === 0
				? text
				: `${text}; last line: ${lines.at(-1)}`,
		]),
	]);
	const older = found.length - shown.length;
	return [
		titles,
		...rows.flatMap((row, index) => [
			row,
			...(withOutput ? outputOf(shown[index]) : []),
		]),
		...(older > 0
			? [
					`${older} older incidents are not shown. All of them: snakepit incidents --json`,
				]
			: []),
	];
}

function outputOf(incident: ShownIncident | undefined): readonly string[] {
	return (incident?.lines ?? []).map((line) => `    ${line}`);
}
