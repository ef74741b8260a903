import { spawnSync } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { PYTHON } from "../../programs/worker-adapter.ts";

/** Where, when and how it was measured. */
export interface RunFacts {
	readonly machine: string;
	readonly kernel: string;
	readonly node: string;
	readonly python: string;
	readonly date: string;
	readonly seed: number;
	readonly tookMinutes: number;
	readonly command: string;
}

/** @param words of the command line. */
export function runFacts(
	seed: number,
	tookMs: number,
	words: readonly string[],
): RunFacts {
	const { stdout } = spawnSync(PYTHON, ["--version"], { encoding: "utf8" });
	const [first] = cpus();
	return {
		machine: `${cpus().length} × ${first?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GB`,
		kernel: `${type()} ${release().split("-")[0]}`,
		node: process.versions.node,
		python: stdout.trim().replace("Python ", ""),
		date: new Date().toISOString().slice(0, 10),
		seed,
		tookMinutes: Math.round(tookMs / 60_000),
		command: repeatCommand(words),
	};
}

/** The command that repeats a run, as it is typed, without where its results went. */
export function repeatCommand(words: readonly string[]): string {
	const kept = words.filter(
		(word, at) => !word.startsWith("--json") && words[at - 1] !== "--json",
	);
	const quoted = kept.map((word) =>
		/^[\w./:=+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`,
	);
	return ["npx pnpm@12 chaos", ...quoted].join(" ");
}
