import type { SnakepitEvent } from "@snakepit/core";
import type { RunId } from "@snakepit/core/infrastructure";
import type { Line } from "./line.ts";
import type { SeenProcess } from "./process-table.ts";

/** By what the processes of a run are known. */
export interface Trail {
	readonly runs: ReadonlySet<RunId>;
	/** The process groups of its workers. */
	readonly groups: ReadonlySet<number>;
}

/** A process of a run that should not be there any more. */
export interface Leftover {
	readonly pid: number;
	readonly command: string;
	readonly knownBy: "group" | "marker";
}

/** Finds what is left of a run among the processes of the system. */
export function leftoversOf(
	trail: Trail,
	processes: readonly SeenProcess[],
): Leftover[] {
	return processes.flatMap(({ pid, group, marker, command }) => {
		if (trail.groups.has(group)) return { pid, command, knownBy: "group" };
		if (marker !== undefined && trail.runs.has(marker.runId))
			return { pid, command, knownBy: "marker" };
		return [];
	});
}

/** The trail of one's own run: follows what the pool tells. */
export class EventTrail implements Trail {
	readonly runs: Set<RunId> = new Set();
	readonly groups: Set<number> = new Set();

	hear(event: SnakepitEvent): void {
		if (event.type === "run.started") this.runs.add(event.runId);
		// A worker leads a process group of its own.
		if (event.type === "worker.spawned") this.groups.add(event.pid);
	}
}

/** The trail of another program's run, while it lives: what it started, and what bears its mark. */
export function trailOfHost(
	host: number,
	processes: readonly SeenProcess[],
): Trail {
	const marks = processes.flatMap(({ marker }) => marker ?? []);
	const own = processes.find(({ pid }) => pid === host);
	const groups = processes
		.filter(({ parent, marker }) => parent === host || marker?.hostPid === host)
		.map(({ group }) => group)
		// What runs in the host's own group is not a worker, and may be ourselves.
		.filter((group) => group !== own?.group);
	return {
		runs: new Set(
			marks.filter(({ hostPid }) => hostPid === host).map(({ runId }) => runId),
		),
		groups: new Set(groups),
	};
}

export function drawLeftover({ pid, knownBy, command }: Leftover): Line {
	return [
		["bad", `  pid ${pid}`],
		["plain", `, known by its ${knownBy}: ${command.slice(0, 120)}`],
	];
}
