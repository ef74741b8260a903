import {
	RUN_TRANSITIONS,
	WORKER_TABLE,
	type WorkerState,
	type WorkerStep,
} from "@snakepit/core/infrastructure";
import { markdownTable } from "../markdown-table.ts";
import { page } from "./page.ts";

/** docs/reference/states.md */
export function statesReference(): string {
	const triggers = Object.keys(
		WORKER_TABLE.starting,
	) as (keyof (typeof WORKER_TABLE)["starting"])[];
	const workers = (Object.keys(WORKER_TABLE) as WorkerState[]).map((state) => [
		`**${state}**`,
		...triggers.map((trigger) => cell(WORKER_TABLE[state][trigger])),
	]);
	const runs = Object.entries(RUN_TRANSITIONS).map(([from, to]) => [
		`**${from}**`,
		to.length === 0 ? "the end" : to.join(", "),
	]);
	return page(
		"States",
		"## A worker",
		'What happens to a worker process in each state. "stay" is late but harmless, "—" is impossible: it would be a defect of Snakepit and is thrown as `IMPOSSIBLE_TRANSITION`. In brackets: what is done.',
		markdownTable(["state", ...triggers], workers),
		"## A run",
		"One life of a host program in the ledger.",
		markdownTable(["from", "to"], runs),
	);
}

function cell(step: WorkerStep): string {
	switch (step.kind) {
		case "stay":
			return "stay";
		case "impossible":
			return "—";
		case "move":
			return `→ ${step.to}${step.effects.length === 0 ? "" : ` (${step.effects.join(", ")})`}`;
	}
}
