import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	availableParallelism,
	cpus,
	loadavg,
	release,
	type as systemName,
	totalmem,
} from "node:os";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Case, FigureSpec, Figures, Row, Setting } from "./case.ts";
import { median } from "./measure.ts";
import type { RowRequest } from "./run-row.ts";

/** Where a run was made. */
export interface Machine {
	readonly processor: string;
	/** Those that this process may use. */
	readonly processors: number;
	readonly memoryGb: number;
	readonly kernel: string;
	/** Load average of the last minute when the run began: what others were doing. */
	readonly loadBefore: number;
	readonly versions: Readonly<Record<string, string>>;
}

/** Over the runs of one row. */
export interface Spread {
	readonly median: number;
	readonly min: number;
	readonly max: number;
	/** Of each run. */
	readonly samples: readonly number[];
}

export interface RowResult {
	readonly name: string;
	readonly figures: Readonly<Record<string, Spread>>;
	/** Why there are none, or fewer: missing here, or failed. */
	readonly problem?: string;
}

export interface CaseResult {
	readonly name: string;
	readonly title: string;
	readonly about: string;
	readonly runs: number;
	readonly figures: Readonly<Record<string, FigureSpec>>;
	readonly rows: readonly RowResult[];
}

/** One run of the whole benchmark: what `--json` writes and `--publish` reads. */
export interface BenchResult {
	readonly version: 1;
	readonly startedAt: string;
	readonly command: string;
	/** Short runs, for a look; no figures to publish. */
	readonly quick: boolean;
	readonly machine: Machine;
	readonly peers: Readonly<Record<string, string>>;
	readonly cases: readonly CaseResult[];
}

/** What is missing on this machine, by what a row needs. */
export interface Missing {
	/** By peer, why it could not be installed. */
	readonly peers: Readonly<Record<string, string | undefined>>;
	/** Why there can be no Ray cluster here. */
	readonly cluster: string | undefined;
}

/** Measures every row of a case, run after run, so that other load on the machine affects all of them alike. */
export async function runCase(
	one: Case,
	setting: Setting,
	runs: number,
	missing: Missing,
	onStep: (step: string) => void,
): Promise<CaseResult> {
	const problems = new Map(
		one.rows.map((row) => [row, whyNot(row, setting, missing)]),
	);
	const rows = one.rows.filter((row) => problems.get(row) === undefined);
	const outcomes = new Map<Row, (Figures | Error)[]>(
		rows.map((row) => [row, []]),
	);
	const times = Math.min(runs, one.mostRuns ?? runs);
	for (let run = 0; run < times; run++) {
		const measure = async (row: Row): Promise<void> => {
			onStep(`${one.name}, run ${run + 1} of ${times}: ${row.name}`);
			const request = { caseName: one.name, rowName: row.name, setting };
			outcomes.get(row)?.push(await runRow(request, row.needs?.clusterNodes));
		};
		if (one.together) await Promise.all(rows.map(measure));
		// Every run begins with another row: nobody always goes first.
		else
			for (const index of rows.keys())
				await measure(rows[(index + run) % rows.length] as Row);
	}
	const { name, title, about, figures } = one;
	const results = one.rows.map((row): RowResult => {
		const problem = problems.get(row);
		return problem === undefined
			? summarize(row.name, outcomes.get(row) ?? [])
			: { name: row.name, figures: {}, problem };
	});
	return { name, title, about, runs: times, figures, rows: results };
}

/** Why a row cannot be measured here; `undefined` if it can. */
function whyNot(
	{ needs = {} }: Row,
	{ freeThreadedPython }: Setting,
	{ peers, cluster }: Missing,
): string | undefined {
	if (needs.linux && process.platform !== "linux") return "only on Linux";
	if (needs.peer !== undefined && peers[needs.peer] !== undefined)
		return `does not install here: ${peers[needs.peer]}`;
	if (needs.freeThreaded && freeThreadedPython === undefined)
		return "no free-threaded Python was named (--free-threaded)";
	return needs.clusterNodes === undefined ? undefined : cluster;
}

/** Median, minimum and maximum of the runs of one row; a failed run is reported, and the others still count. */
export function summarize(
	name: string,
	outcomes: readonly (Figures | Error)[],
): RowResult {
	const samples: Record<string, number[]> = {};
	const errors = outcomes.filter((each) => each instanceof Error);
	for (const outcome of outcomes)
		if (!(outcome instanceof Error))
			for (const [figure, value] of Object.entries(outcome)) {
				samples[figure] ??= [];
				samples[figure].push(value);
			}
	const figures = Object.fromEntries(
		Object.entries(samples).map(([figure, all]) => [figure, spread(all)]),
	);
	if (errors.length === 0) return { name, figures };
	const problem = `${errors.length} of ${outcomes.length} runs failed: ${errors[0]?.message}`;
	return { name, figures, problem };
}

function spread(samples: readonly number[]): Spread {
	const [min, max] = [Math.min(...samples), Math.max(...samples)];
	return { median: median(samples), min, max, samples };
}

const program = fileURLToPath(new URL("./run-row.ts", import.meta.url));
const inside = fileURLToPath(
	new URL("../../scripts/ray/inside.ts", import.meta.url),
);
/** Nothing that is measured takes as long: it hangs. */
const HANGS_AFTER_MS = 10 * 60_000;
const ANSWER = 3;
const STDOUT = 1;

/**
 * Measures one row once, in a fresh process, next to a cluster if it needs one. Never rejects: returns the error of a
 * row that failed.
 */
export async function runRow(
	request: Omit<RowRequest, "answerTo">,
	clusterNodes?: number,
): Promise<Figures | Error> {
	// Only the usual descriptors lead into the namespace.
	const answerTo = clusterNodes === undefined ? ANSWER : STDOUT;
	const child = spawn(
		process.execPath,
		[
			...(clusterNodes === undefined
				? []
				: [inside, String(clusterNodes), process.execPath]),
			"--conditions=snakepit-source",
			"--expose-gc",
			"--no-warnings",
			program,
			JSON.stringify({ ...request, answerTo } satisfies RowRequest),
		],
		{ stdio: ["ignore", "pipe", "pipe", "pipe"] },
	);
	const deadline = setTimeout(
		() => child.kill("SIGKILL"),
		HANGS_AFTER_MS + request.setting.pace.soakMs,
	);
	const [answer, errors] = await Promise.all([
		textOf(child.stdio[answerTo] as Readable),
		textOf(child.stderr),
		...(answerTo === STDOUT ? [] : [textOf(child.stdout)]),
		once(child, "close"),
	]);
	clearTimeout(deadline);
	if (answer !== "") return JSON.parse(answer);
	const lines = errors.split("\n").filter((line) => line.trim() !== "");
	const line = lines.find((each) => /^\w*Error\b/.test(each)) ?? lines.at(-1);
	return new Error(
		`${child.signalCode ?? `exit ${child.exitCode}`}: ${line ?? "silent"}`,
	);
}

async function textOf(stream: Readable | null): Promise<string> {
	return (await stream?.setEncoding("utf8").toArray())?.join("") ?? "";
}

export function describeMachine(
	python: string,
	freeThreadedPython?: string,
): Machine {
	return {
		processor: cpus()[0]?.model.trim() ?? "unknown",
		processors: availableParallelism(),
		memoryGb: Math.round(totalmem() / 2 ** 30),
		kernel: `${systemName()} ${release().split("-")[0]}`,
		loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
		versions: {
			node: process.versions.node,
			...pythonVersions(python),
			...(freeThreadedPython !== undefined && {
				"free-threaded": pythonVersions(freeThreadedPython)["python"] ?? "",
			}),
		},
	};
}

function pythonVersions(python: string): Record<string, string> {
	return JSON.parse(
		runPython(
			python,
			`
import json, platform
from importlib.metadata import PackageNotFoundError, version
found = {"python": f"{platform.python_implementation()} {platform.python_version()}"}
for name in ["grpcio", "protobuf", "msgpack", "numpy"]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))`,
		),
	);
}

/**
 * Compiles the bridge of a Python, as pip does with what it installs: where the
 * environment forbids Python to keep what it compiles, every start of a worker
 * would compile the bridge anew, and only ours.
 */
export function compileBridge(python: string): void {
	runPython(
		python,
		`
import compileall, snakepit_bridge
raise SystemExit(not compileall.compile_dir(snakepit_bridge.__path__[0], quiet=1))`,
	);
}

/** @throws Error with what the program printed, if it fails. */
function runPython(python: string, program: string): string {
	const { status, stdout, stderr } = spawnSync(python, ["-c", program], {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`${python} failed: ${stderr}`);
	return stdout;
}
