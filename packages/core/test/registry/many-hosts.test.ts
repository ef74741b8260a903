import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { rounds } from "../../../../scripts/test-effort.ts";
import type { SparedReason } from "../../src/contract/events.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

/** What one host measured of itself; milliseconds. */
export interface Measured {
	readonly calls: number;
	readonly commits: number;
	readonly unwritten: number;
	/** Time inside all calls of the ledger. */
	readonly insideMs: number;
	readonly longestCallMs: number;
	readonly longestCommitMs: number;
	readonly spared: readonly SparedReason[];
	/** Runs and processes of others that it did something to. */
	readonly touched: number;
}

const HOSTS = rounds(20, 8);
/** What a call does beside its commit: filling in a row. The rest of a call is the commit. */
const BESIDE_MS = 5;

class Host {
	readonly #child: ChildProcess;
	readonly #lines: AsyncIterator<string>;

	constructor(dataDir: string) {
		this.#child = spawn(
			process.execPath,
			[join(import.meta.dirname, "many-hosts-program.ts"), dataDir],
			{ stdio: ["pipe", "pipe", "inherit"] },
		);
		const { stdout } = this.#child;
		if (stdout === null) throw new Error("It has no output.");
		this.#lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
		onTestFinished(() => void this.#child.kill("SIGKILL"));
	}

	async line(): Promise<string> {
		const { value, done } = await this.#lines.next();
		if (done) throw new Error("A host ended early.");
		return value;
	}

	go(): void {
		this.#child.stdin?.write("go\n");
	}

	async end(): Promise<void> {
		const exit = once(this.#child, "exit");
		this.go();
		await exit;
	}
}

test(`${HOSTS} hosts that start at once: none waits for another, none touches another, each writes all of its own`, async () => {
	const dataDir = temporaryDirectory();
	const hosts = Array.from({ length: HOSTS }, () => new Host(dataDir));
	await Promise.all(hosts.map((host) => host.line()));
	for (const host of hosts) host.go();
	const measured = await Promise.all(
		hosts.map(async (host) => JSON.parse(await host.line()) as Measured),
	);
	for (const each of measured) {
		// Every change was written at the first try: nobody held the file.
		expect(each).toMatchObject({
			unwritten: 0,
			commits: each.calls,
			touched: 0,
		});
		expect(new Set([...each.spared, "owner_alive"])).toEqual(
			new Set(["owner_alive"]),
		);
	}
	// What a call took beyond a commit of its own file. The median, since with
	// more hosts than processors one of them is interrupted there now and then.
	const beyond = measured
		.map(
			({ longestCallMs, longestCommitMs }) => longestCallMs - longestCommitMs,
		)
		.sort((a, b) => a - b);
	expect(beyond[HOSTS / 2]).toBeLessThan(BESIDE_MS);
	await Promise.all(hosts.map((host) => host.end()));
	expect(readdirSync(join(dataDir, "runs"))).toEqual([]);
	expect(readdirSync(join(dataDir, "history")).length).toBe(HOSTS);
}, 180_000);
