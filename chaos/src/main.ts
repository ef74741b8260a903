import { readFileSync, writeFileSync } from "node:fs";
import { developmentPython } from "../../scripts/python-environment.ts";
import { type ChaosArguments, readArguments, USAGE } from "./arguments.ts";
import { CASES } from "./cases.ts";
import { type CaseSummary, summarize } from "./figures/summary.ts";
import type { ChaosCase } from "./harness/chaos-case.ts";
import { runCase } from "./harness/run-case.ts";
import {
	type ChaosRun,
	type PeerSummary,
	resultsPage,
} from "./report/markdown.ts";
import { repeatCommand } from "./report/repeat-command.ts";
import { runFacts } from "./report/run-facts.ts";
import { cells, heads, terminalLine } from "./report/terminal-table.ts";

const PAGE = new URL("../../docs/chaos-results.md", import.meta.url);
const PEER_ROUNDS = 3;
/** Ctrl-C: what has begun is finished, the rest is shown as not run. */
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
const chosen = argumentsOrUsage();
if (chosen) process.exitCode = await main(chosen);

async function main(chosen: ChaosArguments): Promise<number> {
	const cases = CASES.filter((chaos) => isChosen(chaos, chosen));
	if (chosen.what === "list") {
		for (const chaos of cases) console.log(lineOf(chaos));
		return 0;
	}
	if (chosen.what === "help") {
		console.log(USAGE);
		return 0;
	}
	if (chosen.what === "page") {
		const runs = chosen.pages.map((file): ChaosRun => {
			return JSON.parse(readFileSync(file, "utf8"));
		});
		writeFileSync(PAGE, resultsPage(runs));
		return 0;
	}
	developmentPython();
	const startedAt = performance.now();
	const summaries = chosen.what === "peers" ? [] : await runAll(cases, chosen);
	const isFull =
		chosen.what === "everything" &&
		chosen.only.length === 0 &&
		!chosen.isTimed &&
		Object.keys(chosen.workers).length === 0;
	const peers =
		isFull || chosen.what === "peers" ? await besidePeers(chosen) : [];
	const command = repeatCommand(process.argv.slice(2));
	const facts = runFacts(chosen.seed, performance.now() - startedAt, command);
	const run: ChaosRun = { ...facts, cases: summaries, peers };
	if (chosen.json)
		writeFileSync(chosen.json, `${JSON.stringify(run, null, "\t")}\n`);
	if (isFull) writeFileSync(PAGE, resultsPage([run]));
	return verdictOf(summaries);
}

/**
 * Cases whose times are figures run one at a time; then the others, two at a
 * time, and beside them those that wait. Told as they come, returned in their
 * order.
 */
async function runAll(
	cases: readonly ChaosCase[],
	chosen: ChaosArguments,
): Promise<readonly CaseSummary[]> {
	const summaries: CaseSummary[] = [];
	const run = async (chaos: ChaosCase): Promise<void> => {
		const rounds =
			chosen.rounds ??
			(chosen.what === "selection" ? (chaos.selected ?? 1) : chaos.rounds);
		const ran = await runCase(
			chaos,
			rounds,
			chosen.seed,
			interrupted.signal,
			chosen.workers,
		);
		const summary = {
			...summarize(chaos, ran.outcomes, ran.skipped),
			tookMs: Math.round(ran.tookMs),
		};
		summaries[cases.indexOf(chaos)] = summary;
		console.log(
			`${terminalLine(cells(summary))} (${(ran.tookMs / 1_000).toFixed(0)} s)`,
		);
		for (const sentence of summary.broken) console.log(`    ${sentence}`);
	};
	console.log(terminalLine(heads));
	for (const chaos of cases.filter(isTimed)) await run(chaos);
	const others = cases.filter((chaos) => !isTimed(chaos));
	const lane = async (left: ChaosCase[]): Promise<void> => {
		for (let next = left.shift(); next; next = left.shift()) await run(next);
	};
	const working = others.filter(({ waits }) => !waits);
	const waiting = others.filter(({ waits }) => waits);
	await Promise.all([lane(working), lane(working), lane(waiting)]);
	return summaries;
}

/** Loaded only here: what others offer need not be installed for the rest. */
async function besidePeers(
	chosen: ChaosArguments,
): Promise<readonly PeerSummary[]> {
	const { sideBySide } = await import("./peers.ts");
	console.log("\nside by side: leftovers of a host that is killed");
	return await sideBySide(
		chosen.rounds ?? PEER_ROUNDS,
		chosen.seed,
		({ name, version, leftovers, workers, p50Ms }) =>
			console.log(
				`${`${name} ${version}`.padEnd(40)} ${leftovers} of ${workers}${p50Ms === undefined ? "" : `, p50 ${p50Ms.toFixed(1)} ms`}`,
			),
	);
}

function verdictOf(summaries: readonly CaseSummary[]): number {
	const broken = summaries.filter(({ verdict }) => verdict === "broken");
	console.log(
		broken.length === 0
			? "\nEvery count is as promised."
			: `\n${broken.length} of ${summaries.length} cases are broken.`,
	);
	return broken.length === 0 ? 0 : 1;
}

function lineOf({ row, name, protections }: ChaosCase): string {
	return [row, name, protections.join(" + ") || "none"].join(" | ");
}

function isTimed(chaos: ChaosCase): boolean {
	return chaos.timed ?? chaos.target !== undefined;
}

function isChosen(chaos: ChaosCase, chosen: ChaosArguments): boolean {
	const { only, what } = chosen;
	if (chosen.isTimed && !isTimed(chaos)) return false;
	if (what === "selection" && chaos.selected === undefined) return false;
	const text = lineOf(chaos);
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
