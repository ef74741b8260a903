import {
	compareIdentity,
	type Observation,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type {
	ProcessRegistry,
	WorkerRecord,
} from "../contract/process-registry.ts";
import type { ProcessHost } from "../contract/world.ts";

/** What one look at the rows showed. */
export interface ReconciliationStep {
	/** Gone at this look and at the one before. */
	readonly vanished: readonly string[];
	/** Gone for the first time: most likely its exit is only not reported yet. */
	readonly missing: ReadonlySet<string>;
}

/** Decides which rows have lost their process without a report of its exit. */
export function decideVanished(
	rows: readonly WorkerRecord[],
	missingBefore: ReadonlySet<string>,
	self: ProcessIdentity,
	observe: (pid: number) => Observation,
): ReconciliationStep {
	const vanished: string[] = [];
	const missing = new Set<string>();
	for (const { incarnation, identity } of rows) {
		if (identity === undefined) continue;
		const verdict = compareIdentity(identity, self, observe(identity.pid));
		if (verdict !== "gone") continue;
		if (missingBefore.has(incarnation)) vanished.push(incarnation);
		else missing.add(incarnation);
	}
	return { vanished, missing };
}

/** Compares the ledger with the process table, look by look. */
export class Reconciliation {
	readonly #registry: ProcessRegistry;
	readonly #host: ProcessHost;
	#missing: ReadonlySet<string> = new Set();

	constructor(registry: ProcessRegistry, host: ProcessHost) {
		this.#registry = registry;
		this.#host = host;
	}

	/** Looks once, records as `vanished` what was gone twice in a row, and returns those incarnations. */
	look(): readonly string[] {
		const { self } = this.#host;
		const step = decideVanished(
			this.#registry.living(),
			this.#missing,
			self,
			(pid) => this.#host.observe(pid),
		);
		this.#missing = step.missing;
		for (const incarnation of step.vanished)
			this.#registry.end(incarnation, {
				exit: undefined,
				reason: "vanished",
				killer: "unknown",
			});
		return step.vanished;
	}
}
