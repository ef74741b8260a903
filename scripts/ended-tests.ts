// A reporter of vitest: ends what the tests have left as soon as the last file of them has ended.
import { writeFileSync } from "node:fs";
import type { Reporter } from "vitest/node";
import { reportLeftovers } from "./leftovers.ts";
import { LEFTOVERS, TEST_RUN } from "./test-mark.ts";

/**
 * Vitest waits for the output of its workers to end. A process that a test has left
 * holds that output open, so that without this vitest would wait for ever.
 */
export default class EndedTests implements Reporter {
	readonly #run: string | undefined = process.env[TEST_RUN];
	readonly #file: string | undefined = process.env[LEFTOVERS];
	#files = 0;

	onTestRunStart(specifications: readonly unknown[]): void {
		this.#files = specifications.length;
	}

	onTestModuleEnd(): void {
		this.#files -= 1;
		if (this.#files === 0 && this.#run !== undefined)
			void this.#endLeftovers(this.#run);
	}

	async #endLeftovers(run: string): Promise<void> {
		// Vitest's workers are its children. What a worker has left has another parent when that worker has ended.
		const failures = await reportLeftovers(
			"vitest",
			run,
			({ parentPid }) => parentPid === process.pid,
		);
		if (failures > 0 && this.#file !== undefined)
			writeFileSync(this.#file, String(failures));
	}
}
