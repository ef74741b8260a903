import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { SnakepitEvent, SnakepitEventType } from "@snakepit/core";
import {
	type ProcessIdentity,
	SystemProcessHost,
} from "@snakepit/core/infrastructure";
import { onTestFinished } from "vitest";
import { endGroup, endHost } from "../../../../scripts/end-host.ts";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import type { WatchdogOptions } from "../../src/index.ts";

/** What a host program is started with. */
export interface HostOrder {
	/** One pool in each. */
	readonly dataDirs: readonly string[];
	/** One worker of every pool for each: program and arguments. It says `up`. */
	readonly commands: readonly (readonly string[])[];
	readonly options?: WatchdogOptions;
	/** Whether it kills itself in the turn in which its first worker is recorded. */
	readonly diesAtRecord?: boolean;
	/** The library with which it copies itself when it is ordered to. */
	readonly copying?: string;
	/** Whether it closes every socket that it holds once it is up, as a careless program may. */
	readonly closesThePipe?: boolean;
}

/** What a host program tells. */
export type HostLine =
	| {
			readonly kind: "event";
			readonly pool: string;
			readonly event: SnakepitEvent;
	  }
	| {
			readonly kind: "up";
			readonly pool: string;
			readonly pids: readonly number[];
	  }
	| { readonly kind: "ready" }
	| { readonly kind: "copied"; readonly pid: number }
	| { readonly kind: "closed" };

export const machine: SystemProcessHost = new SystemProcessHost();

/** A directory of its own for a test, removed after it. */
export function temporaryDirectory(): string {
	const path = mkdtempSync(join(tmpdir(), "snakepit-test-"));
	onTestFinished(() => removeDirectory(path));
	return path;
}

/** A host in a process of its own. Whatever the test does, its processes end with the test. */
export class Host {
	readonly child: ChildProcess;
	readonly lines: HostLine[] = [];
	readonly #arrived = new Set<() => void>();
	readonly #watched: ProcessIdentity[] = [];
	readonly #ended: Promise<unknown>;
	#silent = false;

	constructor(
		order: HostOrder,
		options: {
			readonly program?: string;
			readonly stdio?: readonly ("pipe" | "ignore")[];
		} = {},
	) {
		const program = join(
			import.meta.dirname,
			options.program ?? "host-program.ts",
		);
		const args = ["--conditions=snakepit-source", program];
		this.child = spawn(process.execPath, [...args, JSON.stringify(order)], {
			stdio: ["pipe", "pipe", "inherit", ...(options.stdio ?? [])],
			// A group of its own, as a shell gives one to each of its jobs.
			detached: true,
			env: {
				...process.env,
				NODE_OPTIONS: `${process.env["NODE_OPTIONS"]} --no-warnings`,
				TMPDIR: order.dataDirs[0],
			},
		});
		this.#ended = once(this.child, "exit");
		const { stdout } = this.child;
		if (stdout === null) throw new Error("The host has no output.");
		const reader = createInterface({ input: stdout });
		reader.on("close", () => {
			this.#silent = true;
			for (const arrived of this.#arrived) arrived();
		});
		reader.on("line", (text) => {
			const line = JSON.parse(text) as HostLine;
			this.lines.push(line);
			if (line.kind === "up") this.watch(line.pids);
			if (line.kind === "copied") this.watch([line.pid]);
			if (line.kind === "event" && line.event.type === "protection.started")
				this.watch([line.event.pid]);
			for (const arrived of this.#arrived) arrived();
		});
		const self = machine.observe(this.child.pid ?? 0);
		onTestFinished(async () => {
			await endHost(machine, this.child, self);
			for (const identity of this.#watched) endGroup(machine, identity);
		});
	}

	/** Ends these processes when the test is finished. */
	watch(pids: readonly number[]): void {
		for (const pid of pids) {
			const seen = machine.observe(pid);
			if (typeof seen !== "string") this.#watched.push(seen);
		}
	}

	/** Resolves when it has printed a line of this kind, `count` times. */
	async until(kind: HostLine["kind"], count = 1): Promise<void> {
		await this.#untilSo(
			() => this.lines.filter((line) => line.kind === kind).length >= count,
		);
	}

	async event<Type extends SnakepitEventType>(
		type: Type,
		count = 1,
	): Promise<Extract<SnakepitEvent, { readonly type: Type }>> {
		await this.#untilSo(() => this.events(type).length >= count);
		return this.events(type)[count - 1] as never;
	}

	events<Type extends SnakepitEventType>(
		type: Type,
	): Extract<SnakepitEvent, { readonly type: Type }>[] {
		return this.lines.flatMap((line) =>
			line.kind === "event" && line.event.type === type
				? [line.event as never]
				: [],
		);
	}

	get pids(): readonly number[] {
		return this.lines.flatMap((line) => (line.kind === "up" ? line.pids : []));
	}

	order(what: "exit" | "open" | "close" | "copy" | "idle"): void {
		this.child.stdin?.write(`${what}\n`);
	}

	kill(signal: NodeJS.Signals = "SIGKILL"): void {
		this.child.kill(signal);
	}

	/** Resolves when it has ended. */
	async ended(): Promise<void> {
		await this.#ended;
	}

	/** Rejects when it ends before. */
	#untilSo(isSo: () => boolean): Promise<void> {
		return new Promise((resolve, reject) => {
			const look = (): void => {
				if (!isSo() && !this.#silent) return;
				this.#arrived.delete(look);
				if (isSo()) resolve();
				else
					reject(
						new Error(
							`The host ended; it printed ${JSON.stringify(this.lines)}.`,
						),
					);
			};
			this.#arrived.add(look);
			look();
		});
	}
}

/** Starts a host and waits until its workers are up. */
export async function hostUp(order: HostOrder): Promise<Host> {
	const host = new Host(order);
	await host.until("ready");
	return host;
}

/** Resolves when the watchdog of another host has done its work: long enough for any other watchdog to do it by mistake. */
export async function anotherWatchdogKills(
	options: Partial<HostOrder> = {},
): Promise<void> {
	const host = await hostUp({
		dataDirs: [temporaryDirectory()],
		commands: [shell("sleep 100000")],
		...options,
	});
	const { pid } = await host.event("protection.started");
	host.kill();
	await allGone([...host.pids, pid]);
}

/** A program that prepares itself, prints `up` and then does what `script` says. */
export function shell(script: string, prepare = ""): readonly string[] {
	return ["/bin/sh", "-c", `${prepare}\necho up\n${script}`];
}

/** A Node program that does what `script` says, prints `up`, and goes on for ever. */
export function node(script: string): readonly string[] {
	return [
		process.execPath,
		"--eval",
		`${script}\nconsole.log("up"); setInterval(() => {}, 1e6);`,
	];
}

export function isAlive(pid: number): boolean {
	return machine.observe(pid) !== "gone";
}

/** Every living process whose environment or arguments have `text`. */
export function carrying(text: string): readonly number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.filter((pid) =>
			["environ", "cmdline"].some((file) => {
				try {
					return readFileSync(`/proc/${pid}/${file}`, "latin1").includes(text);
				} catch {
					return false;
				}
			}),
		)
		.map(Number);
}

/** For a busy machine. */
const DEADLINE_MS = 120_000;

/** Looks until it is so: there is no event for the end of another program's child. */
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

export async function allGone(pids: readonly number[]): Promise<void> {
	await eventually(`the end of ${pids.join(", ")}`, () => !pids.some(isAlive));
}
