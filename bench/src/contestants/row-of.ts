import type { Figures, Row, Setting } from "../case.ts";
import type { Contestant, Line, LineAmount } from "./contestant.ts";

/** A row that opens a contestant's line, measures on it, and closes it. */
export function rowOf(
	{ name, kind, needs, open }: Contestant,
	amount: LineAmount,
	measure: (line: Line, setting: Setting) => Promise<Figures>,
): Row {
	return {
		name,
		kind,
		...(needs === undefined ? {} : { needs }),
		measure: async (setting) => {
			await using line = await open({ ...setting, ...amount });
			return await measure(line, setting);
		},
	};
}
