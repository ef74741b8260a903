// Runs once before all tests that vitest runs, and after them.
import {
	existsSync,
	globSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { cache, compiled } from "../vitest.config.ts";
import { developmentPython } from "./python-environment.ts";
import { removeRunDirectory } from "./remove-directory.ts";
import { must, root } from "./run.ts";
import { makeTestDirectory, strayRunDirectories } from "./test-directory.ts";
import { testWorkersEnv } from "./test-workers.ts";

/** Of this clone. */
const records = join(root, "node_modules/.cache/test-directories");

/** Gives all tests of a run one temporary directory, and removes it after the last: hosts that tests kill leave theirs. */
export default async function setUp(): Promise<() => void> {
	await bundleDrizzle();
	stripSources();
	compileSources();
	forgetInterpreters();
	freshenPython();
	const elsewhere = new Set([tmpdir(), "/tmp"]);
	const { path: directory, remove } = makeTestDirectory(records);
	process.env["TMPDIR"] = directory;
	// The ledgers of tests that name no directory of their own; never the developer's.
	process.env["XDG_STATE_HOME"] = join(directory, "state");
	// It would take precedence.
	delete process.env["XDG_RUNTIME_DIR"];
	return () => {
		const strays = strayRunDirectories(directory, [...elsewhere]);
		for (const stray of strays) removeRunDirectory(stray);
		remove();
		forgetInterpreters();
		if (strays.length > 0)
			throw new Error(
				`Programs of tests made directories outside of TMPDIR, which nothing would have removed: ${strays.join(", ")}.`,
			);
	};
}

/**
 * Brings `python/.venv` up to date before any test uses it: one that found it stale would have it made anew while others
 * run what is in it. It is not made where there is none: many tests need no Python.
 */
function freshenPython(): void {
	if (existsSync(join(root, "python/.venv"))) developmentPython();
}

/** No run sees what an earlier one remembered, perhaps with other sources. */
function forgetInterpreters(): void {
	const remembered = join(cache, "snakepit/interpreters");
	rmSync(remembered, { recursive: true, force: true });
}

/** Makes what `#drizzle` is in programs that tests start: one file, as in the package, instead of a hundred. */
async function bundleDrizzle(): Promise<void> {
	const core = join(root, "packages/core");
	const temporary = mkdtempSync(join(core, ".cache-"));
	try {
		const outfile = join(temporary, "drizzle.js");
		await build({
			entryPoints: [join(core, "src/registry/bundled-drizzle.ts")],
			outfile,
			bundle: true,
			format: "esm",
			platform: "node",
			logLevel: "warning",
		});
		mkdirSync(join(core, ".cache"), { recursive: true });
		// Another run of tests may load it at this moment.
		renameSync(outfile, join(core, ".cache/drizzle.js"));
	} finally {
		rmSync(temporary, { recursive: true });
	}
}

/** Node does it in every program again, file by file. */
function stripSources(): void {
	const program = join(root, "scripts/stripped-sources.ts");
	// Node says so of the function that strips.
	must(process.execPath, ["--disable-warning=ExperimentalWarning", program]);
}

/** Has Node compile what programs of tests load: one that is killed keeps nothing of what it compiled for the next. */
function compileSources(): void {
	const program = globSync("packages/*/src/*.ts", { cwd: root })
		.map((file) => `import "${pathToFileURL(join(root, file))}";`)
		.join("\n");
	must(
		process.execPath,
		[
			"--conditions=snakepit-source",
			...["--input-type=module", "--eval", program],
		],
		{
			env: {
				...process.env,
				...testWorkersEnv(""),
				NODE_COMPILE_CACHE: compiled,
			},
		},
	);
}
