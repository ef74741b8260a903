import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commandToRepeat } from "../../scripts/command-to-repeat.ts";
import { installEach } from "../../scripts/packages-on-demand.ts";
import { developmentPython } from "../../scripts/python-environment.ts";
import { namespaceUnavailable } from "../../scripts/ray/namespace.ts";
import { clusterPython } from "../../scripts/ray/python.ts";
import { HELP, PATHS, type Request, readArguments } from "./arguments.ts";
import { cases } from "./cases.ts";
import { compileBridge } from "./compile-bridge.ts";
import { describeMachine } from "./machine.ts";
import { formatResult, keepResults } from "./report/kept-results.ts";
import { drawPlot } from "./report/plot.ts";
import { caseTable, loadBefore, machineLines } from "./report/table.ts";
import type { BenchResult, CaseResult } from "./result.ts";
import { runCase } from "./run-case.ts";

const PEERS = fileURLToPath(new URL("../peers/package.json", import.meta.url));
const args = process.argv.slice(2);
const request = readArguments(
	args,
	cases.map(({ name }) => name),
);
switch (request.kind) {
	case "help":
		console.log(HELP);
		break;
	case "mistake":
		console.error(request.message);
		process.exitCode = 2;
		break;
	case "list":
		for (const { name, title } of cases) console.log(`${name}: ${title}`);
		break;
	case "publish":
		keepResults(
			request.files.map((file) => JSON.parse(readFileSync(file, "utf8"))),
		);
		await import("./write-docs.ts");
		break;
	case "run":
		await run(request);
}

async function run(wanted: Request & { kind: "run" }): Promise<void> {
	const { freeThreadedPython, only, pace, quick, runs } = wanted;
	const chosen = cases.filter(
		({ name }) => only.length === 0 || only.includes(name),
	);
	const rows = chosen.flatMap((one) => one.rows);
	const python = developmentPython();
	compileBridge(python);
	if (freeThreadedPython !== undefined) compileBridge(freeThreadedPython);
	const needed = new Set(rows.map(({ needs }) => needs?.peer));
	const found = installEach(PEERS, "peers", (name) => needed.has(name));
	const directories = found.map(({ name, directory }) => [name, directory]);
	const setting = {
		pace,
		python,
		freeThreadedPython,
		peers: Object.fromEntries(directories),
	};
	const peers = Object.fromEntries(
		found.map(({ name, problem }) => [name, problem]),
	);
	const clusterProblem = rows.some(({ needs }) => needs?.clusterNodes)
		? whyNoCluster()
		: undefined;
	const results: CaseResult[] = [];
	const whole = (): BenchResult => ({
		version: 1,
		startedAt,
		command: commandToRepeat("bench", args, PATHS),
		quick,
		machine,
		peers: Object.fromEntries(
			found.map(({ name, version }) => [name, version]),
		),
		cases: results,
	});
	const startedAt = new Date().toISOString();
	const machine = describeMachine(python, freeThreadedPython);
	console.log([...machineLines(whole()), loadBefore(whole())].join("\n"));
	for (const one of chosen) {
		const result = await runCase(one, {
			setting,
			runs,
			peers,
			clusterProblem,
			onStep,
		});
		results.push(result);
		onStep("");
		console.log(caseTable(result));
		// After every case: what is measured is not lost when a later one is interrupted.
		if (wanted.json !== undefined)
			writeFileSync(wanted.json, `${formatResult(whole())}\n`);
		if (wanted.svg !== undefined) writeFileSync(wanted.svg, drawPlot(results));
	}
}

function whyNoCluster(): string | undefined {
	return clusterPython() === undefined
		? "Ray could not be installed"
		: namespaceUnavailable();
}

/** One line that is written over, where somebody watches. */
function onStep(step: string): void {
	if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${step}`);
}
