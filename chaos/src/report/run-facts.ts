import { spawnSync } from "node:child_process";
import { cpus, release, totalmem, type } from "node:os";
import { PYTHON } from "../../programs/worker-adapter.ts";
import type { RunFacts } from "./markdown.ts";

/** Reads what a reader has to know of this machine. */
export function runFacts(
	seed: number,
	tookMs: number,
	command: string,
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
		command,
	};
}
