import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { commandToRepeat } from "../../scripts/command-to-repeat.ts";
import { installEach } from "../../scripts/packages-on-demand.ts";
import { developmentPython } from "../../scripts/python-environment.ts";
import { clusterUnavailable } from "../../scripts/ray/python.ts";
import type { Pace } from "./case.ts";
import { cases } from "./cases.ts";
import { formatResult, keepResults, machineLine, section } from "./report.ts";
import {
	type BenchResult,
	type CaseResult,
	compileBridge,
	describeMachine,
	runCase,
} from "./run.ts";

const HELP = `Usage: npx pnpm@12 bench [options]

  --only CASE[,CASE]  only these cases
  --list              list the cases
  --quick             two short runs for a quick look; not for publishing
  --runs N            number of interleaved runs (5)
  --soak MINUTES      how long the soak lasts (1)
  --free-threaded PYTHON  an interpreter without Python's lock that has the
                      bridge, for its rows in the case threads
  --json FILE         write the results
  --publish FILE      measure nothing: store the results of --json FILE in bench/results,
                      where each case replaces its older results, and write
                      docs/benchmarks.md from all stored results
`;

const FULL: Pace = {
	...{ warmUpMs: 1_500, measureMs: 1_500, soakMs: 60_000 },
	...{ largestMb: 100, mostWorkers: 100 },
};
const QUICK: Pace = {
	...{ warmUpMs: 500, measureMs: 500, soakMs: 5_000 },
	...{ largestMb: 10, mostWorkers: 16 },
};
const PEERS = fileURLToPath(new URL("../peers/package.json", import.meta.url));

const args = process.argv.slice(2);
const flags = readFlags();
if (flags.help) console.log(HELP);
else if (flags.list)
	for (const { name, title } of cases) console.log(`${name}: ${title}`);
else if (flags.publish !== undefined) {
	keepResults(
		flags.publish.map((file) => JSON.parse(readFileSync(file, "utf8"))),
	);
	await import("./write-docs.ts");
} else await measure();

function readFlags() {
	try {
		const { values } = parseArgs({
			args,
			options: {
				"free-threaded": { type: "string" },
				help: { type: "boolean", short: "h" },
				json: { type: "string" },
				list: { type: "boolean" },
				only: { type: "string", multiple: true },
				publish: { type: "string", multiple: true },
				quick: { type: "boolean", default: false },
				runs: { type: "string" },
				soak: { type: "string" },
			},
		});
		const only = (values.only ?? []).flatMap((names) => names.split(","));
		const known = cases.map(({ name }) => name);
		const unknown = only.find((name) => !known.includes(name));
		if (unknown !== undefined)
			throw new Error(`no case "${unknown}"; there are ${known.join(", ")}`);
		for (const name of ["runs", "soak"] as const)
			if (values[name] !== undefined && !(Number(values[name]) > 0))
				throw new Error(`--${name} must be a number above 0`);
		return { ...values, only };
	} catch (error) {
		console.error(`${(error as Error).message}\n${HELP}`);
		process.exit(2);
	}
}

async function measure(): Promise<void> {
	const { only, quick, "free-threaded": freeThreadedPython } = flags;
	const chosen = cases.filter(
		({ name }) => only.length === 0 || only.includes(name),
	);
	const needs = chosen.flatMap(({ rows }) =>
		rows.map(({ needs = {} }) => needs),
	);
	const pace = quick ? QUICK : FULL;
	const soakMs =
		flags.soak === undefined ? pace.soakMs : Number(flags.soak) * 60_000;
	const python = developmentPython();
	compileBridge(python);
	if (freeThreadedPython !== undefined) compileBridge(freeThreadedPython);
	const peers = installEach(PEERS, "peers", (name) =>
		needs.some(({ peer }) => peer === name),
	);
	const byName = <Value>(value: (peer: (typeof peers)[number]) => Value) =>
		Object.fromEntries(peers.map((peer) => [peer.name, value(peer)]));
	const setting = {
		...{ pace: { ...pace, soakMs }, python, freeThreadedPython },
		peers: byName(({ directory }) => directory),
	};
	const missing = {
		peers: byName(({ problem }) => problem),
		cluster: needs.some(({ clusterNodes }) => clusterNodes)
			? clusterUnavailable()
			: undefined,
	};
	const results: CaseResult[] = [];
	const result: BenchResult = {
		version: 1,
		startedAt: new Date().toISOString(),
		command: commandToRepeat("bench", args),
		quick,
		machine: describeMachine(python, freeThreadedPython),
		peers: byName(({ version }) => version),
		cases: results,
	};
	console.log(machineLine(result));
	const runs = Number(flags.runs ?? (quick ? 2 : 5));
	for (const one of chosen) {
		const measured = await runCase(one, setting, runs, missing, onStep);
		results.push(measured);
		onStep("");
		console.log(`\n${section(measured, result)}`);
		// After every case: what is measured is not lost when a later one is interrupted.
		if (flags.json !== undefined)
			writeFileSync(flags.json, formatResult(result));
	}
}

/** One line that is written over, where somebody watches. */
function onStep(step: string): void {
	if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${step}`);
}
