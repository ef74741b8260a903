import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
	failedPythonTests,
	failedTests,
} from "../../../../scripts/failed-tests.ts";
import { developmentPython } from "../../../../scripts/python-environment.ts";
import { root } from "../../../../scripts/run.ts";
import { isThorough } from "../../../../scripts/test-effort.ts";

const place = mkdtempSync(join(tmpdir(), "fails-"));
const fails = join(import.meta.dirname, "fails");

test.runIf(isThorough())(
	"a line for each test of vitest that failed, and for each file that was not loaded",
	{
		timeout: 120_000,
	},
	() => {
		const report = join(place, "vitest.json");
		spawnSync(
			process.execPath,
			[
				...[join(root, "node_modules/vitest/vitest.mjs"), "run"],
				...["--config", join(fails, "vitest.config.ts")],
				...["--reporter=json", `--outputFile.json=${report}`],
			],
			{ cwd: root, stdio: "ignore" },
		);
		const { testResults } = JSON.parse(readFileSync(report, "utf8"));
		expect([...failedTests(testResults)].sort()).toEqual([
			`failed: ${join(fails, "test.fails.ts")} > numbers are equal: AssertionError: expected 1 to be 2 // Object.is equality`,
			`failed: ${join(fails, "unloaded.fails.ts")}: cannot be loaded`,
		]);
	},
);

test("a line for each test of pytest that failed, also where its fixture did", {
	timeout: 120_000,
}, () => {
	const report = join(place, "pytest.xml");
	spawnSync(
		developmentPython(),
		[
			...["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"],
			...[`--junit-xml=${report}`, join(fails, "failing_tests.py")],
		],
		{ cwd: place, stdio: "ignore" },
	);
	expect(failedPythonTests(readFileSync(report, "utf8"))).toEqual([
		expect.stringMatching(
			/failing_tests > test_equal: AssertionError: not equal$/,
		),
		expect.stringMatching(
			/failing_tests > test_set_up: failed on setup with .*ValueError: not there/,
		),
	]);
});
