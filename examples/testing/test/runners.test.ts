import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { installEach } from "../../../scripts/packages-on-demand.ts";
import { root } from "../../../scripts/run.ts";
import { isThorough } from "../../../scripts/test-effort.ts";

const example = join(import.meta.dirname, "..");
const python = join(root, "python/.venv/bin/python");
const LONGEST_MS = 120_000;

interface Ran {
	readonly status: number | null;
	readonly printed: string;
}

function run(program: string, args: string[], options = ""): Ran {
	const { status, stdout, stderr } = spawnSync(program, args, {
		cwd: example,
		encoding: "utf8",
		timeout: LONGEST_MS,
		env: {
			...process.env,
			VIRTUAL_ENV: join(root, "python/.venv"),
			NODE_OPTIONS: options,
		},
	});
	return { status, printed: `${stdout}${stderr}` };
}

// The repository's own tests run with vitest.
test.runIf(isThorough())(
	"the recipe for vitest runs",
	{ timeout: LONGEST_MS },
	() => {
		const vitest = join(root, "node_modules/vitest/vitest.mjs");
		const { status, printed } = run(process.execPath, [vitest, "run"]);
		expect(printed).toContain("3 passed");
		expect(status).toBe(0);
	},
);

test("the recipe for pytest runs", { timeout: LONGEST_MS }, () => {
	const { status, printed } = run(python, ["-m", "pytest", "-q"]);
	expect(printed).toContain("3 passed");
	expect(status).toBe(0);
});

// To install it takes longer than all else here.
const [jest] = isThorough()
	? installEach(join(example, "runners/package.json"), "runners")
	: [];
const problem = isThorough() ? jest?.problem : "runs in `check`";

test.skipIf(problem !== undefined)(
	`the recipe for Jest runs${problem === undefined ? "" : ` (not here: ${problem})`}`,
	{ timeout: LONGEST_MS },
	() => {
		const program = join(
			jest?.directory ?? "",
			"node_modules/jest/bin/jest.js",
		);
		const { status, printed } = run(
			process.execPath,
			[program, "--detectOpenHandles"],
			"--experimental-vm-modules",
		);
		expect(printed).toMatch(/Tests: +4 passed/);
		expect(printed).not.toContain("snakepit.call");
		expect(status).toBe(0);
	},
);
