import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { endGroup, endHost } from "../../../../scripts/end-host.ts";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import type { CleanupReport } from "../../src/cleanup/cleanup-report.ts";
import type { ProcessIdentity, RunId } from "../../src/contract/identity.ts";
import { SystemProcessHost } from "../../src/os/this-machine.ts";

/** The orders of a host program at its start. */
export interface HostOrder {
	readonly dataDir: string;
	/** Files of the bestiary. */
	readonly workers?: readonly string[];
	/** Whether it is killed between the spawn of its first worker and the record of it. */
	readonly diesBeforeRecording?: boolean;
}

/** What a host program reports once it is up. */
export interface HostReport {
	readonly runId: RunId;
	readonly self: ProcessIdentity;
	readonly pids: readonly number[];
	readonly runDirectory: string;
	readonly report: CleanupReport;
}

/** This machine, for looking. */
export const machine: SystemProcessHost = new SystemProcessHost();

/** A directory of its own for a test, removed after it. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => removeDirectory(path));
	return path;
}

/** A host in a process of its own; killed with its workers when the test is over. */
export class Host {
	readonly child: ChildProcess;
	readonly #lines: AsyncIterator<string>;
	/** Whether its pids are those of another namespace: strangers' here. */
	readonly #isElsewhere: boolean;
	#workers: readonly ProcessIdentity[] = [];

	constructor(
		order: HostOrder,
		options: {
			readonly inside?: readonly string[];
			/** Where it makes its private directories; its data directory by default. */
			readonly temporary?: string;
		} = {},
	) {
		this.#isElsewhere = options.inside !== undefined;
		const [command = "", ...args] = [
			...(options.inside ?? []),
			process.execPath,
			"--conditions=snakepit-source",
			join(import.meta.dirname, "host-program.ts"),
			JSON.stringify(order),
		];
		// What a killed one leaves goes with the test's directory.
		const env = { ...process.env, TMPDIR: options.temporary ?? order.dataDir };
		this.child = spawn(command, args, {
			stdio: ["pipe", "pipe", "inherit"],
			env,
		});
		const { stdout } = this.child;
		if (stdout === null) throw new Error("The host has no output.");
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
		const self = machine.observe(this.child.pid ?? 0);
		onTestFinished(async () => {
			await endHost(machine, this.child, self);
			for (const worker of this.#workers) endGroup(machine, worker);
		});
	}

	/** What it reports once it is up. */
	async up(): Promise<HostReport> {
		const report = (await this.line()) as HostReport;
		if (!this.#isElsewhere) this.watch(report.pids);
		return report;
	}

	/** The next line that it prints. */
	async line(): Promise<unknown> {
		const { value, done } = await this.#lines.next();
		if (done) throw new Error("The host ended before it said anything.");
		return JSON.parse(value);
	}

	/** Remembers processes that shall not outlive the test, whatever happens. */
	watch(pids: readonly number[]): void {
		this.#workers = pids.flatMap((pid) => {
			const seen = machine.observe(pid);
			return typeof seen === "string" ? [] : [seen];
		});
	}

	async kill(): Promise<void> {
		const exit = once(this.child, "exit");
		this.child.kill("SIGKILL");
		await exit;
	}

	/** Ends its run in order. */
	async release(): Promise<void> {
		const exit = once(this.child, "exit");
		this.child.stdin?.write("release\n");
		await exit;
	}
}

const DEADLINE_MS = 40_000;

/** Waits for something that no event reports. */
export async function eventually(
	what: string,
	isSo: () => boolean,
): Promise<void> {
	const deadline = performance.now() + DEADLINE_MS;
	while (!isSo()) {
		if (performance.now() > deadline)
			throw new Error(`Not within ${DEADLINE_MS} ms: ${what}.`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

export function isAlive(pid: number): boolean {
	return machine.observe(pid) !== "gone";
}
