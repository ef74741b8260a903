import { join } from "node:path";
import type { HostProcess } from "./host-process.ts";
import {
	commandLine,
	everyProcess,
	processesWith,
	type SeenProcess,
} from "./process-table.ts";

/** What was started in a directory and lives: by its environment, or by its argument where it cleared that. */
export function startedIn(
	directory: string,
	witness: string,
): readonly SeenProcess[] {
	const words = [`.stay('forgotten', '${witness}')`, join(directory, "daemon")];
	return [
		...processesWith([`CHAOS_STAGE=${directory}\0`]),
		...everyProcess().filter(({ pid }) =>
			commandLine(pid)
				.flatMap((argument) => words.map((word) => argument.endsWith(word)))
				.includes(true),
		),
	];
}

/** The processes of a host's protections. */
export function layersOf(host: HostProcess): readonly SeenProcess[] {
	return host.layers.flatMap(({ processes }) => processes);
}

/** For a report. */
export function inWords({ pid }: SeenProcess): string {
	return `${pid}: ${commandLine(pid).join(" ").slice(0, 80)}`;
}
