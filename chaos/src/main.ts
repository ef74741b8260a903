import { readFileSync, writeFileSync } from "node:fs";
import { developmentPython } from "../../scripts/python-environment.ts";
import type { ProgramSummary } from "./any-program.ts";
import { type ChaosArguments, readArguments, USAGE } from "./arguments.ts";
import { type ChaosCase, runCase } from "./case.ts";
import { CASES } from "./cases.ts";
import { type ChaosRun, type PeerSummary, resultsPage } from "./report/page.ts";
import { runFacts } from "./report/run-facts.ts";
import { type CaseSummary, summarize } from "./report/summary.ts";
import { cells, HEADS, terminalLine } from "./report/terminal-table.ts";

const PAGE = new URL("../../docs/chaos-results.md", import.meta.url);
const PEER_ROUNDS = 3;
/** Ctrl-C: cases that have begun finish, the others are shown as not run. */
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
const words = process.argv.slice(2);
const chosen = argumentsOrUsage();
if (chosen) process.exitCode = await main(chosen);

function argumentsOrUsage(): ChaosArguments | undefined {
	try {
		return readArguments(words);
	} catch (error) {
		console.error(`${(error as Error).message}\n\n${USAGE}`);
		process.exitCode = 2;
		return undefined;
	}
}

async function main(chosen: ChaosArguments): Promise<number> {
	const { what, pages, only, json } = chosen;
	const cases = CASES.filter((chaos) => isChosen(chaos, chosen));
	switch (what) {
		case "list":
			for (const chaos of cases) console.log(lineOf(chaos));
			return 0;
		case "help":
			console.log(USAGE);
			return 0;
		case "page": {
			const runs = pages.map((file) => JSON.parse(readFileSync(file, "utf8")));
			writeFileSync(PAGE, resultsPage(runs));
			return 0;
		}
	}
	developmentPython();
	const startedAt = performance.now();
	const besides = what === "peers" || what === "programs";
	const summaries = besides ? [] : await runAll(cases, chosen);
	const isFull =
		what === "everything" &&
		only.length === 0 &&
		!chosen.isTimed &&
		Object.keys(chosen.workers).length === 0;
	const run: ChaosRun = {
		cases: summaries,
		peers: isFull || what === "peers" ? await besidePeers(chosen) : [],
		programs:
			isFull || what === "programs" ? await programsOfAllKinds(chosen) : [],
		...runFacts(chosen.seed, performance.now() - startedAt, words),
	};
	if (json) writeFileSync(json, `${JSON.stringify(run, null, "\t")}\n`);
	if (isFull) writeFileSync(PAGE, resultsPage([run]));
	const broken = summaries.filter(({ verdict }) => verdict === "broken").length;
	console.log(
		broken === 0
			? "\nEvery count is as promised."
			: `\n${broken} of ${summaries.length} cases are broken.`,
	);
	return broken === 0 ? 0 : 1;
}

/**
 * Cases whose times are figures run one at a time; then the others, two at a
 * time, and beside them those that wait. Shown as they end, returned in their
 * order.
 */
async function runAll(
	cases: readonly ChaosCase[],
	chosen: ChaosArguments,
): Promise<readonly CaseSummary[]> {
	const summaries: CaseSummary[] = [];
	const run = async (chaos: ChaosCase): Promise<void> => {
		const startedAt = performance.now();
		const isSelection = chosen.what === "selection";
		const skipped = interrupted.signal.aborted
			? "the run was interrupted before"
			: chaos.unavailable?.();
		const rounds =
			chosen.rounds ?? (isSelection ? chaos.selected : chaos.rounds) ?? 1;
		const outcomes = await runCase(chaos, {
			rounds: skipped === undefined ? rounds : 0,
			seed: chosen.seed,
			interrupted: interrupted.signal,
			workers: chosen.workers,
		});
		const summary = summarize(chaos, outcomes, skipped);
		summaries[cases.indexOf(chaos)] = summary;
		const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
		console.log(`${terminalLine(cells(summary))} (${seconds} s)`);
		for (const sentence of summary.broken) console.log(`    ${sentence}`);
	};
	console.log(terminalLine(HEADS));
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

/** Loaded only here, too: most of its programs are others'. */
async function programsOfAllKinds({
	only,
	rounds,
	seed,
}: ChaosArguments): Promise<readonly ProgramSummary[]> {
	const { killHostsOfPrograms } = await import("./any-program.ts");
	console.log(
		"\nprograms of all kinds: what is left a second after the end of their host",
	);
	return await killHostsOfPrograms(only, rounds ?? 1, seed, ({ name, left }) =>
		console.log(name.padEnd(60), JSON.stringify(left)),
	);
}

function lineOf({ row, name, protections }: ChaosCase): string {
	return [row, name, protections.join(" + ") || "none"].join(" | ");
}

function isTimed(chaos: ChaosCase): boolean {
	return chaos.timed ?? chaos.target !== undefined;
}

function isChosen(
	chaos: ChaosCase,
	{ only, what, isTimed: timedOnly }: ChaosArguments,
): boolean {
	if (timedOnly && !isTimed(chaos)) return false;
	if (what === "selection" && chaos.selected === undefined) return false;
	const text = lineOf(chaos);
	return only.length === 0 || only.some((each) => text.includes(each));
}
