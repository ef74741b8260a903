import { writeFileSync } from "node:fs";
import { type ChaosArguments, readArguments, USAGE } from "./arguments.ts";
import { CASES } from "./cases.ts";
import { type CaseSummary, summarize } from "./figures/summary.ts";
import type { ChaosCase } from "./harness/chaos-case.ts";
import { runCase } from "./harness/run-case.ts";
import { cells, heads, terminalLine } from "./report/terminal-table.ts";

const chosen = argumentsOrUsage();
if (chosen) process.exitCode = await main(chosen);

async function main(chosen: ChaosArguments): Promise<number> {
	const cases = CASES.filter((chaos) => isChosen(chaos, chosen));
	if (chosen.what === "list") {
		for (const { row, name, protections } of cases)
			console.log([row, name, protections.join(" + ") || "none"].join(" | "));
		return 0;
	}
	const summaries: CaseSummary[] = [];
	console.log(terminalLine(heads));
	for (const chaos of cases) {
		const rounds =
			chosen.rounds ??
			(chosen.what === "selection" ? (chaos.selected ?? 1) : chaos.rounds);
		const ran = await runCase(chaos, rounds, chosen.seed);
		const summary = summarize(chaos, ran.outcomes, ran.skipped);
		summaries.push(summary);
		console.log(terminalLine(cells(summary)));
		for (const sentence of summary.broken) console.log(`    ${sentence}`);
	}
	const results = { seed: chosen.seed, cases: summaries };
	if (chosen.json)
		writeFileSync(chosen.json, `${JSON.stringify(results, null, "\t")}\n`);
	const broken = summaries.filter(({ verdict }) => verdict === "broken");
	console.log(
		broken.length === 0
			? "\nEvery count is as promised."
			: `\n${broken.length} of ${summaries.length} cases are broken.`,
	);
	return broken.length === 0 ? 0 : 1;
}

function isChosen(chaos: ChaosCase, { only, what }: ChaosArguments): boolean {
	if (what === "selection" && chaos.selected === undefined) return false;
	const text = `${chaos.row} | ${chaos.name} | ${chaos.protections.join(" + ") || "none"}`;
	return only.length === 0 || only.some((each) => text.includes(each));
}

function argumentsOrUsage(): ChaosArguments | undefined {
	try {
		return readArguments(process.argv.slice(2));
	} catch (error) {
		console.error(`${(error as Error).message}\n\n${USAGE}`);
		process.exitCode = 2;
		return undefined;
	}
}
