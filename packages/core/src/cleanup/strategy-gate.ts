import type { CleanupStrategy, FoundOrphan } from "./cleanup-strategy.ts";
import type { Orphan } from "./orphan-search.ts";

/** Asks the user's strategy once about each orphan. */
export class StrategyGate {
	readonly #strategy: CleanupStrategy | undefined;
	readonly #report: (error: unknown) => void;
	readonly #answers = new Map<string, "reap" | "spare">();

	/** @param report hears of a strategy that throws. */
	constructor(
		strategy: CleanupStrategy | undefined,
		report: (error: unknown) => void,
	) {
		this.#strategy = strategy;
		this.#report = report;
	}

	/** Whether the orphan shall be ended. */
	async admits(orphan: Orphan): Promise<boolean> {
		const { ofRun, pid, foundBy, incarnation, fingerprint } = orphan;
		const key = `${pid}/${orphan.identity.startTime}`;
		const answer =
			this.#answers.get(key) ??
			(await this.#ask({ ofRun, pid, foundBy, incarnation, fingerprint }));
		this.#answers.set(key, answer);
		return answer === "reap";
	}

	async #ask(orphan: FoundOrphan): Promise<"reap" | "spare"> {
		if (this.#strategy === undefined) return "reap";
		try {
			const answer = await this.#strategy(orphan);
			return answer === "spare" ? "spare" : "reap";
		} catch (error) {
			this.#report(error);
			return "reap";
		}
	}
}
