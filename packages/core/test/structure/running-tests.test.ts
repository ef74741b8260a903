import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { root, runBeside } from "../../../../scripts/run.ts";
import RunningTests from "../../../../scripts/running-tests.ts";
import { RUNNING_TESTS } from "../../../../scripts/test-mark.ts";

const file = (): string =>
	join(mkdtempSync(join(tmpdir(), "running-")), "running-tests");
const one = { moduleId: join(root, "packages/a.test.ts") };
const other = { moduleId: join(root, "packages/b.test.ts") };

test("the file names each test that runs, and each file that is being loaded", () => {
	const path = file();
	vi.stubEnv(RUNNING_TESTS, path);
	onTestFinished(() => void vi.unstubAllEnvs());
	const running = new RunningTests();
	expect(readFileSync(path, "utf8")).toBe("");
	running.onTestModuleQueued(one);
	running.onTestModuleQueued(other);
	running.onTestCaseReady({ fullName: "ends", module: one });
	expect(readFileSync(path, "utf8").split("\n")).toEqual([
		"packages/a.test.ts > ends",
		"packages/b.test.ts is being loaded",
		"",
	]);
	running.onTestCaseResult({ fullName: "ends", module: one });
	running.onTestModuleEnd(other);
	expect(readFileSync(path, "utf8")).toBe("packages/a.test.ts after > ends\n");
	running.onTestModuleEnd(one);
	expect(readFileSync(path, "utf8")).toBe("");
});

test("a command that does not end is killed at its deadline, after the report of what it was doing", async () => {
	const deadline = new AbortController();
	const steps: string[] = [];
	const ending = runBeside(
		process.execPath,
		["--eval", "for (;;);"],
		process.env,
		deadline.signal,
		() => steps.push("reported"),
	);
	deadline.abort();
	expect(await ending).toBe("killed at the deadline");
	expect(steps).toEqual(["reported"]);
});

test("a command that ends in time ends with its own status", async () => {
	const ended = runBeside(
		process.execPath,
		["--eval", "process.exit(3)"],
		process.env,
		new AbortController().signal,
		() => expect.unreachable(),
	);
	expect(await ended).toEqual({ status: 3 });
});
