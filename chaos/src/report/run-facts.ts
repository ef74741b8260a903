import { spawnSync } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { commandToRepeat } from "../../../scripts/command-to-repeat.ts";
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

/** What a published command leaves out. */
export const PATHS = { "--json": undefined } as const;

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
		command: commandToRepeat("chaos", words, PATHS),
	};
}
