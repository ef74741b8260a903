import { globSync } from "node:fs";
import { basename } from "node:path";

/** A part of core whose code is changed, and the tests that should notice: globs from the root of the repository. */
export interface Area {
	readonly name: string;
	readonly mutate: readonly string[];
	readonly tests: readonly string[];
}

const core = (folder: string, ...tests: readonly string[]): Area => ({
	name: folder,
	mutate: [`packages/core/src/${folder}/**/*.ts`],
	tests: [folder, ...tests].map(
		(name) => `packages/core/test/${name}/**/*.test.ts`,
	),
});

export const AREAS: readonly Area[] = [
	core("pool"),
	core("process", "worker"),
	core("worker"),
	core("heartbeat", "worker"),
	core("run", "cleanup", "audit"),
	core("audit", "cleanup"),
	core("cleanup"),
	core("registry"),
];

/**
 * Tests that start many real processes, act as another user, or begin a thread:
 * too slow to run for every mutant, or not possible in the enclosure.
 */
export const LEFT_OUT: readonly string[] = [
	"application-cleanup",
	"conversations-end",
	"damaged-ledger",
	"end-group",
	"files-under-a-host",
	"lost-record",
	"many-hosts",
	"open-run",
	"other-user",
	"pool-names",
	"pools-of-a-run",
	"protected-run",
	"real-*",
	"reaping",
	"signals",
	"threads",
	"worker-lifeline",
].map((name) => `**/${name}.test.ts`);

/** Names the area of the Python side. */
export const PYTHON = "python";

/** Folders of the Python side in which most files only decide. */
const PYTHON_FOLDERS = "src/snakepit_bridge/{calls,tools,values}/**/*.py";

/** The files of these folders that have tests of their own, by their names. @param cwd the folder `python`. */
export function pythonFiles(
	cwd: string,
): ReadonlyMap<string, readonly string[]> {
	return new Map(
		globSync(PYTHON_FOLDERS, { cwd })
			.map((file): [string, string[]] => [
				file,
				globSync(
					[
						`tests/**/test_${basename(file, ".py")}.py`,
						...(file.includes("/values/") ? ["tests/test_value_*.py"] : []),
					],
					{ cwd },
				),
			])
			.filter(([, tests]) => tests.length > 0),
	);
}
