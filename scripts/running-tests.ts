// A reporter of vitest: keeps a file with what is running, for the end of a run that hangs.
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { root } from "./run.ts";
import { RUNNING_TESTS } from "./test-mark.ts";

type Module = Pick<TestModule, "moduleId">;
type Test = Pick<TestCase, "fullName"> & { readonly module: Module };

/** Names the file that it writes in the environment variable `RUNNING_TESTS`. */
export default class RunningTests implements Reporter {
	readonly #file: string | undefined = process.env[RUNNING_TESTS];
	readonly #running = new Map<string, string>();

	constructor() {
		this.#write();
	}

	onTestModuleQueued({ moduleId }: Module): void {
		this.#set(moduleId, "is being loaded");
	}

	onTestCaseReady({ fullName, module }: Test): void {
		this.#set(module.moduleId, `> ${fullName}`);
	}

	onTestCaseResult({ fullName, module }: Test): void {
		this.#set(module.moduleId, `after > ${fullName}`);
	}

	onTestModuleEnd({ moduleId }: Module): void {
		this.#running.delete(moduleId);
		this.#write();
	}

	#set(moduleId: string, what: string): void {
		this.#running.set(moduleId, what);
		this.#write();
	}

	#write(): void {
		if (this.#file === undefined) return;
		const lines = [...this.#running].map(
			([moduleId, what]) => `${relative(root, moduleId)} ${what}\n`,
		);
		writeFileSync(this.#file, lines.join(""));
	}
}
