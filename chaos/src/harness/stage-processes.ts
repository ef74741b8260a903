import { type HostProcess, SOURCE_CONDITION } from "./host-process.ts";
import {
	commandLine,
	everyProcess,
	look,
	processesWith,
	type SeenProcess,
} from "./process-table.ts";
import type { Stage } from "./stage.ts";

/** Everything that was started on a stage and lives, hosts and protections too: by its environment, or by its argument where it cleared that. */
export function everythingOf({
	directory,
	witness,
}: Pick<Stage, "directory" | "witness">): readonly SeenProcess[] {
	return [
		...processesWith([mark(directory)]),
		...everyProcess().filter(({ pid }) =>
			commandLine(pid).some((word) =>
				word.endsWith(`.stay('forgotten', '${witness.path}')`),
			),
		),
	];
}

/** A host, its workers and their descendants, by the marker of its run; without those that cleared it. */
export function processesOf(host: HostProcess): readonly SeenProcess[] {
	const runs = host.all<{ runId: string }>("run.started");
	const itself = look(host.pid);
	return [
		...(itself === undefined ? [] : [itself]),
		...processesWith(runs.map(({ runId }) => `SNAKEPIT_RUN=${runId}:`)),
	];
}

/** The process of a host itself, where something stands before it: it alone has a run. */
export function programBehind(
	host: HostProcess,
	{ directory }: Pick<Stage, "directory">,
): SeenProcess {
	const found = processesWith([mark(directory)]).find(({ pid }) => {
		const [command, condition] = commandLine(pid);
		return command?.endsWith("node") && condition === SOURCE_CONDITION;
	});
	if (!found) throw new Error(`No program behind ${host.pid}.`);
	return found;
}

function mark(directory: string): string {
	return `CHAOS_STAGE=${directory}\0`;
}
