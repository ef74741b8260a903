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
