import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import type { SnakepitEvent } from "../../src/contract/events.ts";
import type { ProcessIdentity, RunId } from "../../src/contract/identity.ts";

/** What the host says after each order. */
export interface CommittingAnswer {
	readonly runId: RunId;
	readonly identity: ProcessIdentity;
	/** Since the last answer. */
	readonly events: readonly SnakepitEvent[];
	/** Rows that are only in memory. */
	readonly unwritten: number;
}

/** A host in a process of its own that writes its ledger when it is asked to; killed when the test is over. */
export class CommittingHost {
	readonly #child: ChildProcess;
	readonly #lines: AsyncIterator<string>;

	/** @param before a command that starts it, such as one that sets a limit. */
	constructor(dataDir: string, before: readonly string[] = []) {
		const [command = "", ...args] = [
			...before,
			process.execPath,
			"--conditions=snakepit-source",
			join(import.meta.dirname, "committing-host-program.ts"),
			dataDir,
		];
		this.#child = spawn(command, args, {
			stdio: ["pipe", "pipe", "inherit"],
			env: { ...process.env, ...testMark() },
		});
		const { stdout } = this.#child;
		if (stdout === null) throw new Error("The host has no output.");
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
		onTestFinished(() => void this.#child.kill("SIGKILL"));
	}

	/** What it says next, also of its start. */
	async answer(): Promise<CommittingAnswer> {
		const { value, done } = await this.#lines.next();
		if (!done) return JSON.parse(value);
		const { exitCode, signalCode } = this.#child;
		throw new Error(`The host ended (${exitCode ?? signalCode}).`);
	}

	order(order: "commit" | "flush"): Promise<CommittingAnswer> {
		this.#child.stdin?.write(`${order}\n`);
		return this.answer();
	}

	async kill(): Promise<void> {
		const exit = once(this.#child, "exit");
		this.#child.kill("SIGKILL");
		await exit;
	}
}

/** The files in `runs/` of a directory, those of one run where there is one. */
export function filesOfRuns(dataDir: string): readonly string[] {
	const folder = join(dataDir, "runs");
	return readdirSync(folder)
		.sort()
		.map((file) => join(folder, file));
}
