import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { developmentPython } from "../../scripts/python-environment.ts";
import { isInside, runInside } from "../../scripts/ray/namespace.ts";
import { clusterUnavailable } from "../../scripts/ray/python.ts";
import { type ChaosCase, ROUNDS, runCase } from "./case.ts";
import { CASES } from "./cases.ts";
import { endCluster, rayCluster } from "./families/ray.ts";
import {
	type CaseSummary,
	resultsPage,
	runFacts,
	summarize,
	terminalLine,
} from "./report.ts";

const USAGE = `npx pnpm@12 chaos [options]

  --rounds N      rounds of every case; ${ROUNDS} by default
  --only TEXT     cases with TEXT in their row, name or protections; can be repeated
  --seed N        chooses the random moments; 1 by default
  --json FILE     writes the results there
  --framed        Python workers talk framed instead of gRPC
  --preload       Python workers are forked from a preloaded parent
  --selection     the cases that run with the tests, 1 round
  --ray           instead: the cases with workers on a Ray cluster
  --peers         instead: the side by side with other packages and usual clients
  --list          runs nothing: prints the names of the cases
  --page FILE...  runs nothing: writes docs/chaos-results.md from what --json wrote

Ctrl-C finishes the rounds that have begun; the results then show that the others did not run.`;

const PAGE = new URL("../../docs/chaos-results.md", import.meta.url);
const words = process.argv.slice(2).filter((word) => word !== "--");
const startedAt = performance.now();
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
process.exitCode = await main();

function readArguments() {
	const flag = { type: "boolean", default: false } as const;
	const { values, positionals } = parseArgs({
		args: words,
		allowPositionals: true,
		options: {
			rounds: { type: "string" },
			only: { type: "string", multiple: true, default: [] },
			seed: { type: "string", default: "1" },
			json: { type: "string" },
			...{ framed: flag, preload: flag, selection: flag },
			...{ ray: flag, peers: flag, list: flag, page: flag },
			help: { type: "boolean", short: "h", default: false },
		},
	});
	if (positionals.length > 0 && !values.page)
		throw new Error(`There is no argument "${positionals[0]}".`);
	const { rounds, seed } = values;
	return {
		...values,
		files: positionals,
		rounds: rounds === undefined ? undefined : whole("rounds", rounds),
		seed: whole("seed", seed),
		workers: {
			...(values.framed && { transport: "framed" as const }),
			...(values.preload && { preload: { modules: ["numpy"] } }),
		},
	};
}

type Chosen = ReturnType<typeof readArguments>;

async function main(): Promise<number> {
	let chosen: Chosen;
	try {
		chosen = readArguments();
	} catch (error) {
		console.error(`${(error as Error).message}\n\n${USAGE}`);
		return 2;
	}
	const { help, page, list, ray, peers, json } = chosen;
	if (help) {
		console.log(USAGE);
		return 0;
	}
	if (page) {
		const runs = chosen.files.map((file) =>
			JSON.parse(readFileSync(file, "utf8")),
		);
		writeFileSync(PAGE, resultsPage(runs));
		return 0;
	}
	const cases = (ray ? rayCluster : CASES).filter((chaos) =>
		isChosen(chaos, chosen),
	);
	if (list) {
		for (const chaos of cases) console.log(lineOf(chaos));
		return 0;
	}
	developmentPython();
	if (ray && !isInside()) return besideCluster();
	const summaries = peers ? [] : await runAll(cases, chosen);
	await endCluster();
	const { only, rounds, seed } = chosen;
	// Loaded only where it runs: other packages need not be installed for the rest.
	const compared = peers ? await import("./comparisons.ts") : undefined;
	const run = {
		cases: summaries,
		peers: (await compared?.besidePeers(only, rounds ?? ROUNDS, seed)) ?? [],
		...runFacts(performance.now() - startedAt, words),
	};
	if (json) writeFileSync(json, `${JSON.stringify(run, null, "\t")}\n`);
	const broken = summaries.filter(({ verdict }) => verdict === "broken").length;
	console.log(
		broken === 0
			? "\nEvery count is as promised."
			: `\n${broken} of ${summaries.length} cases are broken.`,
	);
	return broken === 0 ? 0 : 1;
}

/** The same command in a network that has only loopback. */
function besideCluster(): number {
	const problem = clusterUnavailable();
	if (problem !== undefined) {
		console.error(problem);
		return 2;
	}
	return runInside();
}

/**
 * Cases whose times are figures run one at a time; then the others, two at a time, and beside them those that wait.
 * Shown as they end, returned in their order.
 */
async function runAll(
	cases: readonly ChaosCase[],
	chosen: Chosen,
): Promise<readonly CaseSummary[]> {
	const summaries: CaseSummary[] = [];
	const run = async (chaos: ChaosCase): Promise<void> => {
		const begunAt = performance.now();
		const skipped = interrupted.signal.aborted
			? "the run was interrupted before"
			: chaos.unavailable?.();
		const rounds = chosen.rounds ?? (chosen.selection ? 1 : ROUNDS);
		const outcomes = await runCase(chaos, {
			rounds: skipped === undefined ? rounds : 0,
			seed: chosen.seed,
			interrupted: interrupted.signal,
			workers: chosen.workers,
		});
		const summary = summarize(chaos, outcomes, skipped);
		summaries[cases.indexOf(chaos)] = summary;
		const seconds = ((performance.now() - begunAt) / 1_000).toFixed(0);
		console.log(`${terminalLine(summary)} (${seconds} s)`);
		for (const sentence of summary.broken) console.log(`    ${sentence}`);
	};
	console.log(terminalLine());
	const lane = async (left: ChaosCase[]): Promise<void> => {
		for (let next = left.shift(); next; next = left.shift()) await run(next);
	};
	const kind = ({ timed, waits }: ChaosCase) =>
		timed ? "alone" : waits ? "waiting" : "working";
	const {
		alone = [],
		working = [],
		waiting = [],
	} = Object.groupBy(cases, kind);
	await lane(alone);
	await Promise.all([lane(working), lane(working), lane(waiting)]);
	return summaries;
}

function isChosen(chaos: ChaosCase, { only, selection }: Chosen): boolean {
	if (selection && !chaos.selected) return false;
	const text = lineOf(chaos);
	return only.length === 0 || only.some((each) => text.includes(each));
}

function lineOf({ row, name, protections }: ChaosCase): string {
	return [row, name, protections.join(" + ") || "none"].join(" | ");
}

function whole(name: string, text: string): number {
	const number = Number(text);
	if (!Number.isSafeInteger(number) || number < 1)
		throw new Error(`--${name} must be a whole number from 1, not "${text}".`);
	return number;
}
