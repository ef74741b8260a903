import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { HostOrder, HostOrders } from "../../programs/orders.ts";

const PROGRAM = fileURLToPath(
	new URL("../../programs/host.ts", import.meta.url),
);

import {
	end,
	everyProcess,
	look,
	processesWith,
	type SeenProcess,
} from "./process-table.ts";

/** Makes packages resolve to their sources. */
export const SOURCE_CONDITION = "--conditions=snakepit-source";

/** Hosts start in half the time; nothing of what is tested is in it. */
export const COMPILED: string = fileURLToPath(
	new URL("../../../node_modules/.cache/compiled", import.meta.url),
);

/** How a host ended: a code, or the signal it died of. */
export interface HostExit {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

/** What stands between the harness and the host: `["sh", "-c", ...]`, `["unshare", ...]`. */
export interface HostSetting {
	readonly env: Readonly<Record<string, string>>;
	/** Put before the command of the host. */
	readonly before?: readonly string[];
	/** Another name for Node than its path. */
	readonly node?: string;
	/** Another program than the host's, which runs that one. */
	readonly program?: string;
	readonly nodeArguments?: readonly string[];
	readonly detached?: boolean;
}

/** How many there are in a chain; the children of the last are workers. */
const GUARDS = 3;

/** The processes of one protection of a host: a watchdog, or the guards from the outermost to the inner one. */
export interface Layer {
	readonly protection: string;
	readonly processes: readonly SeenProcess[];
}

/** A host, as the harness sees it: it hears what the host tells, and ends it. */
export class HostProcess {
	readonly child: ChildProcess;
	readonly exited: Promise<HostExit>;
	/** What was told, by its name: a run of many lives tells tens of thousands. */
	readonly #facts = new Map<string, unknown[]>();
	readonly #looks = new Set<() => void>();
	/** The last lines, for an error. */
	#lastLines: string[] = [];
	#errors = "";
	readonly #layers: Layer[] = [];
	readonly #stage: string;
	#calls = 0;
	#closed = false;

	constructor(orders: HostOrders, setting: HostSetting) {
		this.#stage = setting.env["CHAOS_STAGE"] ?? "";
		const [command = "", ...args] = [
			...(setting.before ?? []),
			setting.node ?? process.execPath,
			SOURCE_CONDITION,
			...(setting.nodeArguments ?? []),
			setting.program ?? PROGRAM,
			JSON.stringify(orders),
		];
		this.child = spawn(command, args, {
			stdio: ["pipe", "pipe", "pipe"],
			env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...setting.env },
			detached: setting.detached ?? false,
		});
		const { stdin, stdout, stderr } = this.child;
		if (!stdin || !stdout || !stderr) throw new TypeError("It has pipes.");
		this.exited = once(this.child, "exit").then(([code, signal]) => ({
			code,
			signal,
		}));
		stdin.on("error", () => {});
		stderr.setEncoding("utf8").on("data", (text: string) => {
			this.#errors = (this.#errors + text).slice(-4_000);
		});
		this.child.once("close", () => {
			this.#closed = true;
			for (const check of this.#looks) check();
		});
		createInterface({ input: stdout }).on("line", (line) => {
			try {
				this.#hear(JSON.parse(line));
				this.#lastLines = [...this.#lastLines.slice(-20), line];
			} catch {
				this.#errors += `${line}\n`;
			}
			for (const check of this.#looks) check();
		});
	}

	/** The processes of the protections that this host told of, the latest of each last. */
	get layers(): readonly Layer[] {
		return this.#layers;
	}

	get pid(): number {
		return this.child.pid ?? -1;
	}

	get errors(): string {
		return this.#errors;
	}

	#hear(facts: Readonly<Record<string, unknown>>): void {
		for (const [name, fact] of Object.entries(facts)) {
			const told = this.#facts.get(name);
			if (told) told.push(fact);
			else this.#facts.set(name, [fact]);
			if (name === "protection.started")
				this.#noteLayer(fact as { pid: number; protection: string });
		}
	}

	/** Of the guards the outermost is told; each of the others is the only child of the one before. */
	#noteLayer({ pid, protection }: { pid: number; protection: string }): void {
		const told = look(pid);
		// In another pid namespace the number is a stranger's here.
		if (!told || !isOf(this.#stage, told.parent)) return;
		const all = everyProcess();
		const processes = [told];
		while (protection === "guard" && processes.length < GUARDS) {
			const above = processes.at(-1)?.pid;
			const next = all.find((each) => each.parent === above);
			if (next === undefined) break;
			processes.push(next);
		}
		this.#layers.push({ protection, processes });
	}

	/** Everything told so far under this name, in order. */
	all<Fact = unknown>(name: string): readonly Fact[] {
		return [...(this.#facts.get(name) ?? [])] as Fact[];
	}

	/**
	 * The first fact under this name that fits.
	 *
	 * @throws Error when the host ends before, or the deadline passes.
	 */
	async told<Fact = unknown>(
		name: string,
		deadlineMs = 120_000,
		fits: (fact: Fact) => boolean = () => true,
	): Promise<Fact> {
		const { promise, resolve, reject } = Promise.withResolvers<Fact>();
		const fail = (why: string): void =>
			reject(
				new Error(
					`The host never told "${name}": ${why}. It told ${this.#lastLines.join("\n").slice(-2_000)}\n${this.#errors}`,
				),
			);
		let looked = 0;
		const check = (): void => {
			const told = this.#facts.get(name) ?? [];
			let found = false;
			while (!found && looked < told.length)
				found = fits(told[looked++] as Fact);
			if (found) resolve(told[looked - 1] as Fact);
			else if (this.#closed) fail("it ended");
		};
		const deadline = setTimeout(
			() => fail(`nothing within ${deadlineMs} ms`),
			deadlineMs,
		);
		this.#looks.add(check);
		check();
		try {
			return await promise;
		} finally {
			clearTimeout(deadline);
			this.#looks.delete(check);
		}
	}

	/** The next fact under this name, after those that were told already. */
	async next<Fact>(name: string): Promise<Fact> {
		const known = this.all(name).length;
		let seen = 0;
		return await this.told<Fact>(name, undefined, () => ++seen > known);
	}

	order(order: HostOrder): void {
		this.child.stdin?.write(`${JSON.stringify(order)}\n`);
	}

	/**
	 * A call on every worker; resolves when all have answered.
	 *
	 * @param retries how often each may be made again when it loses its worker.
	 */
	async call(tool: string, args: unknown = {}, retries = 0): Promise<void> {
		const id = `${tool} ${++this.#calls}`;
		this.order({ id, call: tool, args, retries });
		const ours = (told: string): boolean => told === id;
		await Promise.race([
			this.told<string>("done", 120_000, ours),
			this.told<string>("failed", 120_000, ours).then(() => {
				throw new Error(`${id}: ${this.all("message").at(-1)}`);
			}),
		]);
	}

	/** A call on every worker that is not waited for. */
	begin(tool: string, args: unknown = {}): void {
		this.order({ id: `begun ${tool}`, call: tool, args });
	}

	/** SIGKILL to the host and everything that protects its workers, in one go, and the moment before it. */
	killWithItsProtections(): number {
		const at = this.kill();
		for (const { processes } of this.#layers) processes.forEach(end);
		return at;
	}

	/** SIGKILL, and the moment before it on the monotonic clock. */
	kill(): number {
		const at = performance.now();
		this.child.kill("SIGKILL");
		return at;
	}
}

/** Whether a process was started for a stage. */
function isOf(stage: string, pid: number): boolean {
	return processesWith([`CHAOS_STAGE=${stage}\0`]).some(
		(each) => each.pid === pid,
	);
}
