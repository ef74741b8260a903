import { basename } from "node:path";
import type { HostProgram } from "../registry/process-registry.ts";
import { VERSION } from "./gen/version.ts";

const MOST_ARGUMENTS = 64;
const MOST_CHARACTERS = 1_000;

/**
 * What the ledger records of this very program.
 *
 * @param content whether that may contain what the program was called with.
 */
export function thisProgram(content: "recorded" | "left_out"): HostProgram {
	const [executable = "", main = executable] = process.argv;
	const shown = process.argv.slice(0, MOST_ARGUMENTS);
	return {
		name: cut(basename(main)),
		cwd: workingDirectory(),
		argv: content === "recorded" ? shown.map(cut) : undefined,
		node: process.versions.node,
		snakepit: VERSION,
	};
}

/** Empty where it was removed. */
function workingDirectory(): string {
	try {
		return cut(process.cwd());
	} catch {
		return "";
	}
}

function cut(text: string): string {
	return text.slice(0, MOST_CHARACTERS);
}
