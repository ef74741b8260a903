// A reporter of vitest: keeps a file with what is running, for the end of a run that hangs, and ends what the tests have
// left as soon as the last file of them has ended.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { reportLeftovers } from "./leftovers.ts";
import { root } from "./run.ts";
import { LEFTOVERS, RUNNING_TESTS, TEST_RUN } from "./test-mark.ts";

/** Names the files that it writes in the environment variables `RUNNING_TESTS` and `LEFTOVERS`. */
export default class TestReporter implements Reporter {
	readonly #running = new Map<string, string>();
	#files = 0;

	onTestRunStart(specifications: readonly unknown[]): void {
		this.#files = specifications.length;
	}

	onTestModuleQueued({ moduleId }: TestModule): void {
		this.#set(moduleId, "is being loaded");
	}

	onTestCaseReady({ fullName, module }: TestCase): void {
		this.#set(module.moduleId, `> ${fullName}`);
	}

	onTestCaseResult({ fullName, module }: TestCase): void {
		this.#set(module.moduleId, `after > ${fullName}`);
	}

	onTestModuleEnd({ moduleId }: TestModule): void {
		this.#set(moduleId, undefined);
		this.#files -= 1;
		if (this.#files === 0) void this.#endLeftovers();
	}

	#set(moduleId: string, state: string | undefined): void {
		if (state === undefined) this.#running.delete(moduleId);
		else this.#running.set(moduleId, state);
		const lines = [...this.#running].map(
			([id, text]) => `${relative(root, id)} ${text}\n`,
		);
		const file = process.env[RUNNING_TESTS];
		if (file !== undefined) writeFileSync(file, lines.join(""));
	}

	/**
	 * Vitest waits for the output of its workers to end. A process that a test has left
	 * holds that output open, so that without this vitest would wait for ever.
	 */
	async #endLeftovers(): Promise<void> {
		const { [TEST_RUN]: run, [LEFTOVERS]: file } = process.env;
		if (run === undefined) return;
		// Vitest's workers are its children. What a worker has left has another parent when that worker has ended.
		const failures = await reportLeftovers(
			"vitest",
			run,
			({ parentPid }) => parentPid === process.pid,
		);
		if (failures > 0 && file !== undefined)
			writeFileSync(file, String(failures));
	}
}
