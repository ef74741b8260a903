import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
	existsSync,
	globSync,
	mkdirSync,
	openSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { leftoversAreSeen, reportLeftovers, runText } from "./leftovers.ts";
import { developmentPython, makeBeside } from "./python-environment.ts";
import { CLUSTER } from "./ray/python.ts";
import { must, root, takeNoArguments } from "./run.ts";
import { TABLES } from "./tables-python.ts";
import { isThorough, longestRunMs } from "./test-effort.ts";
import { LEFTOVERS, RUNNING_TESTS, TEST_RUN } from "./test-mark.ts";

interface Count {
	readonly passed: number;
	readonly failed: number;
	readonly skipped: number;
}

takeNoArguments(
	"test",
	"runs every test; one file: npx pnpm@12 exec vitest run FILE, and in python/ .venv/bin/python -m pytest FILE",
);

const ENTITIES: Readonly<Record<string, string>> = {
	...{ lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" },
};
const failures: string[] = [];
const results = join(root, ".test-results");
rmSync(results, { recursive: true, force: true });
rmSync(join(root, "coverage"), { recursive: true, force: true });
mkdirSync(results);

// Much of an installation is waiting: one after the other they leave a core idle.
const besides = [CLUSTER, TABLES].map(makeBeside);
const python = developmentPython();
// Each worker would compile the bridge and its tools for itself where PYTHONDONTWRITEBYTECODE is set.
const sources = ["python/src", "python/tests", "apps/demo/src", "examples"];
const tools = globSync("packages/*/test", { cwd: root });
must(
	python,
	[
		...["-m", "compileall", "-q", "-x", "/node_modules/"],
		...[...sources, ...tools],
	],
	{ cwd: root },
);

// Runs at the same time are strangers to each other, and so are the two runners of one.
const run = randomUUID();
const runOf = (name: string): string => `${name}-${run}`;
const marked = (name: string): NodeJS.ProcessEnv => ({
	...process.env,
	[TEST_RUN]: runOf(name),
});

// It runs beside vitest, and what it prints is shown after it. Most tests wait for
// other processes, so that each runner has more tests under way than there are cores.
const pytestOutput = join(results, "pytest.txt");
const output = openSync(pytestOutput, "w");
const pytestEnd = statusOf(
	spawn(
		python,
		[
			...["-m", "pytest", "--color=yes", `--junit-xml=${reportOf("pytest")}`],
			...["--numprocesses=2", "--dist=worksteal"],
		],
		{
			...{ cwd: join(root, "python"), env: marked("pytest") },
			stdio: ["ignore", output, output],
		},
	),
);

// It slows every test down, so that only `check` measures it.
const coverage = isThorough() ? ["--coverage"] : [];
console.log("\nvitest");
// Not the script in node_modules/.bin: with the NODE_PATH that it sets, packages are found from everywhere.
const vitestProgram = join(root, "node_modules/vitest/vitest.mjs");
const runningTests = join(results, "running-tests");
const leftoversSeen = join(results, "leftovers");
const longestMs = longestRunMs();
const late = AbortSignal.timeout(longestMs);
late.addEventListener("abort", () => {
	console.error(`\nvitest has not ended after ${longestMs / 60_000} minutes:`);
	if (existsSync(runningTests))
		console.error(readFileSync(runningTests, "utf8"));
	if (leftoversAreSeen) console.error(runText(runOf("vitest")));
});
const vitestStatus = await statusOf(
	spawn(
		process.execPath,
		[
			...[vitestProgram, "run", ...coverage, "--reporter=default"],
			...["--reporter=junit", `--outputFile.junit=${reportOf("vitest")}`],
			`--reporter=${join(root, "scripts/test-reporter.ts")}`,
		],
		{
			...{ cwd: root, stdio: "inherit", signal: late, killSignal: "SIGKILL" },
			env: {
				...marked("vitest"),
				[RUNNING_TESTS]: runningTests,
				[LEFTOVERS]: leftoversSeen,
			},
		},
	),
);
const vitest = count("vitest", vitestStatus);
const leftByVitest =
	(await reportLeftovers("vitest", runOf("vitest"))) +
	(existsSync(leftoversSeen) ? 1 : 0);

await Promise.all(besides);
const pytestStatus = await pytestEnd;
const leftByPytest = await reportLeftovers("pytest", runOf("pytest"));
console.log(`\npytest\n${readFileSync(pytestOutput, "utf8")}`);
const pytest = count("pytest", pytestStatus);

const passed = vitest.passed + pytest.passed;
const failed = vitest.failed + leftByVitest + pytest.failed + leftByPytest;
const skipped = vitest.skipped + pytest.skipped;
const line = `${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
// Where output is cut, its end is kept.
writeFileSync(join(results, "summary"), [...failures, line, ""].join("\n"));
console.log(`\n${[...failures, line].join("\n")}`);
process.exitCode = failed === 0 ? 0 : 1;

/** The exit code of a runner; 1 if a signal ended it. */
function statusOf(runner: ChildProcess): Promise<number> {
	const { promise, resolve } = Promise.withResolvers<number>();
	// One that is killed at its deadline reports that as an error.
	runner.on("error", console.error);
	runner.once("close", (status) => resolve(status ?? 1));
	return promise;
}

/** Where a runner reports what came of its tests, in the format of JUnit. */
function reportOf(name: string): string {
	return join(results, `${name}.xml`);
}

/** Reads a runner's report. A bad end that no test explains counts as one failure. */
function count(name: string, status: number): Count {
	const report = existsSync(reportOf(name))
		? readFileSync(reportOf(name), "utf8")
		: "";
	const sum = (attribute: string): number =>
		[
			...report.matchAll(
				RegExp(`<testsuite [^>]*\\b${attribute}="(\\d+)"`, "g"),
			),
		].reduce((total, [, number]) => total + Number(number), 0);
	failures.push(...failedTests(report));
	const [failed, skipped] = [sum("failures") + sum("errors"), sum("skipped")];
	const counted = { failed, skipped, passed: sum("tests") - failed - skipped };
	const ran = counted.passed + failed;
	if (failed > 0 || (status === 0 && ran > 0)) return counted;
	console.error(
		`${name} ended with ${status} after ${ran} tests of which none failed: counted as one failure`,
	);
	return { ...counted, failed: 1 };
}

/** What failed, a line each: the last thing to read of an output that is cut from its beginning. */
function failedTests(report: string): readonly string[] {
	const failed =
		/<testcase classname="([^"]*)" name="([^"]*)"[^>]*>(?:(?!<\/testcase>)[\s\S])*?<(?:failure|error)(?: message="([^"]*)")?/g;
	return [...report.matchAll(failed)].map(([, file, name, message = ""]) => {
		const [first = ""] = message.split(/&#10;|\n/, 1);
		const line = `failed: ${file} > ${name}${first && `: ${first.slice(0, 300)}`}`;
		return line.replaceAll(
			/&(lt|gt|quot|apos|amp);/g,
			(_, entity: string) => ENTITIES[entity] ?? "",
		);
	});
}
