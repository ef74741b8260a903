import { duration } from "../figures.ts";
import type { Line } from "../line.ts";
import type { Ending } from "./demo-telemetry.ts";

/** Says in one line what became of what was told. */
export function drawEnding(ending: Ending, endpoint: string): Line {
	const [tone, text] =
		ending.kind === "sent" ? GOOD : (["bad", "had trouble"] as const);
	return [
		["faint", "telemetry    "],
		[tone, text],
		["faint", `  to ${endpoint}${because(ending)}`],
	];
}

const GOOD = ["good", "sent"] as const;

function because(ending: Ending): string {
	switch (ending.kind) {
		case "sent":
			return "";
		case "not_all_sent":
			return `: ${ending.problem}`;
		case "given_up":
			return `: ${ending.problem ?? `no answer for ${duration(ending.afterMs)}`}`;
	}
}
