import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { HostOptions, Orders } from "../../programs/host.ts";
import { until } from "./exit-watcher.ts";
import {
	commandLine,
	end,
	everyProcess,
	look,
	processesWith,
	type SeenProcess,
} from "./processes.ts";

const PROGRAM = fileURLToPath(
	new URL("../../programs/host.ts", import.meta.url),
);
/** Makes packages resolve to their sources. */
export const SOURCE_CONDITION = "--conditions=snakepit-source";
/** Hosts start in half the time with it; it holds compiled sources only. */
export const COMPILED: string = fileURLToPath(
	new URL("../../../node_modules/.cache/compiled", import.meta.url),
);
const DEADLINE_MS = 120_000;
/** How many there are in a chain; the children of the last are workers. */
const GUARDS = 3;

/** How a host is started. */
export interface HostStart {
	readonly env: Readonly<Record<string, string>>;
	/** Put before the command of the host: `["sh", "-c", ...]`, `["unshare", ...]`. */
	readonly before?: readonly string[];
	/** Another program than the host's, which runs that one. */
	readonly program?: string;
	readonly nodeArguments?: readonly string[];
}

/** The processes of one protection of a host: a watchdog, or the guards from the outermost to the innermost. */
export interface Layer {
	readonly protection: string;
	readonly processes: readonly SeenProcess[];
}

/** An order that failed in the host. */
class OrderError extends Error {
	readonly code: string;

	constructor(code: string, message: string) {
		super(message);
		this.code = code;
	}
}

interface Reply {
	readonly id: number;
	readonly value?: unknown;
	readonly error?: { readonly code?: string; readonly message: string };
}

/** A host, seen from the harness: its facts, the orders it is given, and its end. */
export class HostProcess {
	readonly child: ChildProcess;
	readonly exited: Promise<unknown>;
	/** The processes of its protections as it reported them, the latest of each last. */
	readonly layers: Layer[] = [];
	/** What it wrote to standard error, and lines that are no facts. */
	errors = "";
	/** Everything that it reported, by name: some cases have tens of thousands. */
	readonly #facts = new Map<string, unknown[]>();
	readonly #changes = new EventEmitter().setMaxListeners(0);
	/** For the message of an error. */
	#lastLines: string[] = [];
	readonly #stage: string;
	#orders = 0;
	#closed = false;

	constructor(options: HostOptions, start: HostStart) {
		this.#stage = start.env["CHAOS_STAGE"] ?? "";
		const [command = "", ...args] = [
			...(start.before ?? []),
			...[process.execPath, SOURCE_CONDITION, ...(start.nodeArguments ?? [])],
			...[start.program ?? PROGRAM, JSON.stringify(options)],
		];
		this.child = spawn(command, args, {
			stdio: ["pipe", "pipe", "pipe"],
			env: { ...process.env, NODE_COMPILE_CACHE: COMPILED, ...start.env },
		});
		const { stdin, stdout, stderr } = this.child;
		if (!stdin || !stdout || !stderr) throw new TypeError("It has pipes.");
		this.exited = once(this.child, "exit");
		stdin.on("error", () => {});
		stderr.setEncoding("utf8").on("data", (text: string) => {
			this.errors = (this.errors + text).slice(-4_000);
		});
		this.child.once("close", () => {
			this.#closed = true;
			this.#changes.emit("change");
		});
		createInterface({ input: stdout }).on("line", (line) => {
			try {
				this.#note(JSON.parse(line));
				this.#lastLines = [...this.#lastLines.slice(-20), line];
			} catch {
				this.errors += `${line}\n`;
			}
			this.#changes.emit("change");
		});
	}

	get pid(): number {
		return this.child.pid ?? -1;
	}

	#note(facts: Readonly<Record<string, unknown>>): void {
		for (const [name, fact] of Object.entries(facts)) {
			const known = this.#facts.get(name);
			if (known) known.push(fact);
			else this.#facts.set(name, [fact]);
			if (name === "protection.started")
				this.#noteLayer(fact as { pid: number; protection: string });
		}
	}

	/** Only the outermost guard is reported; each of the others is the only child of the one before. */
	#noteLayer({ pid, protection }: { pid: number; protection: string }): void {
		const outermost = look(pid);
		// The pid of a host in another pid namespace is another process here.
		const isOurs = processesWith([`CHAOS_STAGE=${this.#stage}\0`]).some(
			(each) => each.pid === outermost?.parent,
		);
		if (!outermost || !isOurs) return;
		const all = everyProcess();
		const processes = [outermost];
		while (protection === "guard" && processes.length < GUARDS) {
			const above = processes.at(-1)?.pid;
			const next = all.find((each) => each.parent === above);
			if (next === undefined) break;
			processes.push(next);
		}
		this.layers.push({ protection, processes });
	}

	/** The facts of this name so far, in order. */
	facts<Fact = unknown>(name: string): readonly Fact[] {
		return [...(this.#facts.get(name) ?? [])] as Fact[];
	}

	/**
	 * The first fact of this name that fits.
	 *
	 * @throws Error when the host ends before it reports one, or the deadline passes.
	 */
	async fact<Fact = unknown>(
		name: string,
		fits: (fact: Fact) => boolean = () => true,
	): Promise<Fact> {
		let looked = 0;
		const found: Fact[] = [];
		const isThere = (): boolean => {
			const facts = (this.#facts.get(name) ?? []) as Fact[];
			found.push(...facts.slice(looked).filter(fits));
			looked = facts.length;
			return found.length > 0 || this.#closed;
		};
		await until(this.#changes, isThere, DEADLINE_MS);
		const [first] = found;
		if (first !== undefined) return first;
		throw new Error(
			`The host reported no "${name}" ${this.#closed ? "before it ended" : `within ${DEADLINE_MS} ms`}. Its last reports: ${this.#lastLines.join("\n").slice(-2_000)}\n${this.errors}`,
		);
	}

	/** Makes the host carry out an order; rejects when it failed there. It need not be awaited. */
	order<Name extends keyof Orders>(
		name: Name,
		...args: Parameters<Orders[Name]>
	): Promise<Awaited<ReturnType<Orders[Name]>>> {
		const id = ++this.#orders;
		this.child.stdin?.write(`${JSON.stringify({ id, name, args })}\n`);
		const replied = this.fact<Reply>("reply", (reply) => reply.id === id).then(
			({ value, error }) => {
				if (error === undefined)
					return value as Awaited<ReturnType<Orders[Name]>>;
				throw new OrderError(error.code ?? "", error.message);
			},
		);
		replied.catch(() => {});
		return replied;
	}

	/** A call on every worker, or so many; resolves when all have answered. */
	call(...args: Parameters<Orders["call"]>): Promise<void> {
		return this.order("call", ...args);
	}

	/** One call: resolves to the code of its error, or `"ok"`. */
	async codeOf(tool: string, args: unknown = {}): Promise<string> {
		try {
			await this.call(tool, args, 0, 1);
			return "ok";
		} catch (error) {
			if (error instanceof OrderError) return error.code;
			throw error;
		}
	}

	/** The pids of the workers that were ready first. */
	workers(): Promise<readonly number[]> {
		return this.fact<readonly number[]>("ready");
	}

	/** The living processes of this host, its workers and their descendants, by the marker of its run; without those that cleared it. */
	processes(): readonly SeenProcess[] {
		const runs = this.facts<{ runId: string }>("run.started");
		return [
			...[look(this.pid) ?? []].flat(),
			...processesWith(runs.map(({ runId }) => `SNAKEPIT_RUN=${runId}:`)),
		];
	}

	/** The process of the host program itself, where another program starts it. */
	program(): SeenProcess {
		const program = processesWith([`CHAOS_STAGE=${this.#stage}\0`]).find(
			({ pid }) => {
				const [command, condition] = commandLine(pid);
				return command?.endsWith("node") && condition === SOURCE_CONDITION;
			},
		);
		if (!program) throw new Error(`No program behind ${this.pid}.`);
		return program;
	}

	/** SIGKILL; returns the moment before it on the monotonic clock. */
	kill(): number {
		const at = performance.now();
		this.child.kill("SIGKILL");
		return at;
	}

	/** The same, and to everything that protects its workers. */
	killWithItsProtections(): number {
		const at = this.kill();
		for (const { processes } of this.layers) processes.forEach(end);
		return at;
	}
}
