import type { Naming, ProcessKey } from "./incident.ts";
import type { WorkerRecord } from "./process-registry.ts";

/**
 * Names processes by the record: the nearest recorded one on the line is the
 * worker that it was, or descends from.
 *
 * A guard knows only whom it forked itself. Where that is a preloaded parent
 * others descend from it that are workers themselves, so what it wrote is taken
 * for such a process alone, and not for what is below it.
 *
 * @param workers read once, when there is something to name.
 */
export function recordedNames(
	workers: () => readonly Pick<WorkerRecord, "incarnation" | "identity">[],
): Naming {
	let names: ReadonlyMap<string, string> | undefined;
	return (line, written) => {
		names ??= new Map(
			workers().flatMap(({ incarnation, identity }) =>
				identity === undefined ? [] : [[keyOf(identity), incarnation]],
			),
		);
		for (const process of line) {
			const name = names.get(keyOf(process));
			if (name !== undefined) return name;
		}
		return line.length > 1 ? undefined : written;
	};
}

function keyOf({ pid, startTime }: ProcessKey): string {
	return `${pid} ${startTime}`;
}
