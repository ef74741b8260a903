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

/** Files of the Python side that only decide, and their own tests: globs from `python`. */
export const PYTHON_FILES: Readonly<Record<string, string>> = {
	"src/**/binding.py": "tests/test_{arguments,binding}.py",
	"src/**/call_page.py": "tests/test_call_page.py",
	"src/**/credit.py": "tests/test_credit.py",
	"src/**/forking/protocol.py": "tests/preload/test_fork_requests.py",
	"src/**/function_shape.py": "tests/test_function_shape.py",
	"src/**/host_frames.py": "tests/test_host_frames.py",
	"src/**/plain_intake.py": "tests/test_plain_intake.py",
	"src/**/plain_run.py": "tests/test_plain_run.py",
	"src/**/turns.py": "tests/test_turns.py",
	"src/**/values/{decode,encode}.py": "tests/test_{own_types,value_*}.py",
};
