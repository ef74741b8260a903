import {
	formatMarker,
	type ProcessIdentity,
	processKey,
} from "../contract/identity.ts";
import type { WorkerStatus } from "../contract/process-registry.ts";
import type { MarkedProcess } from "../contract/world.ts";

/** A living process that carries the marker of a living run and belongs to no worker in the run's registry. */
export interface Stray {
	readonly identity: ProcessIdentity;
	/** The worker that its marker names. */
	readonly incarnation: string | undefined;
	/** That worker in the registry: it has ended, or there never was one. */
	readonly of: "ended" | "unknown";
	/** The program's name, for people. */
	readonly name: string;
}

/** The result of one look. */
export interface StraysStep {
	/** Seen at this look and at the one before. */
	readonly strays: readonly Stray[];
	/** Every process without a worker at this look: most of them are being ended at this moment. */
	readonly suspects: ReadonlySet<string>;
}

/** The processes of the run `marker` that descend from no worker which is reserved or active. */
export function unaccounted(
	marked: readonly MarkedProcess[],
	marker: string,
	statusOf: (incarnation: string) => WorkerStatus | undefined,
): readonly Stray[] {
	return marked.flatMap((process): readonly Stray[] => {
		if (formatMarker(process.marker) !== marker) return [];
		const { identity, incarnation, name } = process;
		const status =
			incarnation === undefined ? undefined : statusOf(incarnation);
		if (status === "reserved" || status === "active") return [];
		return [{ identity, incarnation, name, of: status ?? "unknown" }];
	});
}

/** Decides which processes are strays: those without a worker at two looks in a row. */
export function decideStrays(
	found: readonly Stray[],
	suspectsBefore: ReadonlySet<string>,
): StraysStep {
	return {
		strays: found.filter((stray) => suspectsBefore.has(keyOf(stray))),
		suspects: new Set(found.map(keyOf)),
	};
}

/** Names one process: its pid alone may be another's at the next look. */
export function keyOf({ identity }: Pick<Stray, "identity">): string {
	return processKey(identity);
}
