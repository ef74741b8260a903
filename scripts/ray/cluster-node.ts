import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
	LinuxProc,
	type TableEntry,
} from "../../packages/core/src/os/process-table.ts";
import { endLeftover } from "../leftovers.ts";

const PROGRAM = join(import.meta.dirname, "node.py");
const MARK = "SNAKEPIT_TEST_NODE";
const END_MS = 30_000;
const LOOK_MS = 10;

export interface NodeSetting {
	readonly address: string;
	/** A directory, and where this node sees it instead of what the head has there; nothing for the head. */
	readonly disk: readonly string[];
	/** With {@link MARK}, which no other node has. */
	readonly env: Readonly<Record<string, string>>;
	/** For the command `ray`. */
	readonly words: readonly string[];
}

/** A node of a cluster for tests: `node.py`, Ray's processes, and what they start. */
export class ClusterNode {
	readonly address: string;
	readonly #setting: NodeSetting;
	readonly #child: ChildProcess;
	readonly #exited: Promise<unknown>;
	#printed = "";
	/** Its pid namespace, if it has its own. */
	#namespace: string | undefined;

	constructor(python: string, setting: NodeSetting) {
		this.address = setting.address;
		this.#setting = setting;
		const { disk, env, words } = setting;
		const isolated = [
			...["setpriv", "--pdeathsig=KILL"],
			...["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
		];
		const [command = "", ...args] = [
			...(disk.length > 0 ? isolated : []),
			...[python, PROGRAM],
			JSON.stringify({ disk, ray: [join(dirname(python), "ray"), ...words] }),
		];
		this.#child = spawn(command, args, {
			env: { ...process.env, ...env },
			stdio: ["pipe", "pipe", "pipe"],
		});
		this.#exited = once(this.#child, "exit");
		for (const stream of [this.#child.stdout, this.#child.stderr])
			stream?.setEncoding("utf8").on("data", (text: string) => {
				this.#printed += text;
			});
	}

	/** @throws Error with what Ray printed, when the node has not joined. */
	async joined(withinMs: number): Promise<void> {
		const deadline = performance.now() + withinMs;
		while (!this.#printed.includes('"joined"')) {
			const ended = this.#child.exitCode ?? this.#child.signalCode;
			if (ended !== null || performance.now() > deadline)
				throw new Error(
					`The node ${this.address} did not join within ${withinMs} ms (${ended === null ? "it runs" : `ended with ${ended}`}): ${this.#printed}`,
				);
			await pause(LOOK_MS);
		}
		if (this.#setting.disk.length > 0)
			this.#namespace = this.processes()
				.map(({ pid }) => namespaceOf(pid))
				.find((each) => each !== namespaceOf(process.pid));
	}

	/** Everything that lives on the node; on the head, what has its mark in its environment. */
	processes(): readonly TableEntry[] {
		const table = new LinuxProc();
		const mark = this.#setting.env[MARK];
		return table
			.entries()
			.filter(
				({ pid, condition }) =>
					condition !== "zombie" &&
					((this.#namespace !== undefined &&
						namespaceOf(pid) === this.#namespace) ||
						table.environment(pid, [MARK]).get(MARK) === mark),
			);
	}

	/** The only process on the node that has this name: `raylet`, on the head also `gcs_server`. */
	process(name: "raylet" | "gcs_server"): TableEntry {
		const [found, other] = this.processes().filter(
			(each) => each.name === name,
		);
		if (found === undefined || other !== undefined)
			throw new Error(
				`There is ${other ? "more than one" : "no"} ${name} on ${this.address}.`,
			);
		return found;
	}

	/** Ends everything. What `node.py` cannot end, because it was killed itself, is killed from here. */
	async end(): Promise<void> {
		this.#child.stdin?.end();
		const late = AbortSignal.timeout(END_MS);
		const stop = (): boolean => this.#child.kill("SIGKILL");
		late.addEventListener("abort", stop);
		// A stopped process would not see the end of its input.
		this.#child.kill("SIGCONT");
		await this.#exited;
		late.removeEventListener("abort", stop);
		await this.#gone();
	}

	async #gone(): Promise<void> {
		await this.#exited;
		const deadline = performance.now() + END_MS;
		for (;;) {
			const left = this.processes();
			if (left.length === 0 || performance.now() > deadline) return;
			for (const each of left) endLeftover(each);
			await pause(LOOK_MS);
		}
	}
}

function namespaceOf(pid: number): string | undefined {
	try {
		return readlinkSync(`/proc/${pid}/ns/pid`);
	} catch {
		return undefined; // It has ended.
	}
}
