import type { Incident } from "../registry/incident.ts";
import type { RunId } from "../run-id.ts";

/** Who cleans up after a dead run. */
export type Claimant =
	/** The start of a later run: it tells what happened while no host lived, and the file goes to the history. */
	| {
			readonly kind: "reaper";
			/** The later run. */
			readonly runId: RunId;
			readonly tell: (incident: Incident) => void;
	  }
	/** Nobody hears a watchdog: what it saw stays in the file, and the file where the next start finds it. */
	| {
			readonly kind: "watchdog";
			/** The dead run itself. */
			readonly runId: RunId;
	  };

/** As it is written into the ledger. */
export function claimantName({
	kind,
	runId,
}: Pick<Claimant, "kind" | "runId">): string {
	return `${kind}:${runId}`;
}
