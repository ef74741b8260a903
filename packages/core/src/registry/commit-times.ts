import type { RegistryStatistics } from "../contract/process-registry.ts";

/** How many commits there were, and how long the event loop waited for them. */
export class CommitTimes {
	#commits = 0;
	#ms = 0;
	#longestMs = 0;

	get statistics(): Pick<
		RegistryStatistics,
		"commits" | "commitMs" | "longestCommitMs"
	> {
		return {
			commits: this.#commits,
			commitMs: this.#ms,
			longestCommitMs: this.#longestMs,
		};
	}

	/** One took so long, whether it succeeded or not. */
	tried(tookMs: number): void {
		this.#ms += tookMs;
		this.#longestMs = Math.max(this.#longestMs, tookMs);
	}

	succeeded(): void {
		this.#commits++;
	}
}
