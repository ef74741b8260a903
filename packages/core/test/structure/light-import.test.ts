import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const CORE = join(import.meta.dirname, "../..");

/** Prints which files a program loads, ES modules and CommonJS. */
const LISTED = `
	import { registerHooks } from "node:module";
	const loaded = [];
	registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
	await import(process.argv[1]);
	console.log(JSON.stringify(loaded.filter((url) => url.startsWith("file:"))));
`;

function filesOf(entry: string): readonly string[] {
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[
			"--conditions=snakepit-source",
			...["--input-type=module", "--eval", LISTED, entry],
		],
		{
			// Without what tests set there, Drizzle is loaded as it is installed.
			env: { ...process.env, NODE_OPTIONS: undefined },
			...{ cwd: CORE, encoding: "utf8", timeout: 60_000 },
		},
	);
	expect(status, stderr).toBe(0);
	return JSON.parse(stdout);
}

const HEAVY = /\/(better-sqlite3|drizzle-orm|@grpc|@bufbuild)\//;

// scripts/check-packages.ts measures what the packed package costs.
test("importing the package loads few files: pools and the ledger are loaded when they are used", () => {
	const files = filesOf("@snakepit/core");
	expect(files.filter((file) => HEAVY.test(file))).toEqual([]);
	expect(files.length).toBeLessThanOrEqual(17);
});

test.each([
	"adapter",
	"infrastructure",
	"inspect",
	"instrument",
	"options",
	"protection",
	"registry",
])("importing its entry %s loads neither Drizzle nor SQLite", (entry) => {
	const files = filesOf(`@snakepit/core/${entry}`);
	expect(files.length).toBeGreaterThan(0);
	expect(files.filter((file) => HEAVY.test(file))).toEqual([]);
});

test("a first run loads both", () => {
	const files = filesOf(join(import.meta.dirname, "first-run-program.ts"));
	for (const name of ["better-sqlite3", "drizzle-orm"])
		expect(files.some((file) => file.includes(`/${name}/`))).toBe(true);
});
