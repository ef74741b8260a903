import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import type { ProcessExit } from "@snakepit/core/infrastructure";
import {
	NODE_ONLY_VARIABLE,
	NOT_NODE_STATUS,
	type ProcessIdentity,
	requireToSpawn,
	SystemProcessHost,
} from "@snakepit/core/infrastructure";
import { ownFile, ProtectionUnavailable } from "../own-file.ts";
import { READY } from "./message.ts";

/** A watchdog process, as its host sees it. */
export interface WatchdogProcess {
	readonly pid: number;
	/** Resolves when it listens; rejects with the reason when it ends before. */
	readonly ready: Promise<void>;
	/** Settles once, with its end. Never rejects. */
	readonly exited: Promise<ProcessExit>;
	/** Writes to its pipe in this turn of the event loop; kills it if it does not read. Never throws. */
	send(line: string): void;
	/** Closes the pipe: with nothing left to protect, the watchdog ends. */
	end(): void;
	/** Ends it at once. */
	kill(): void;
}

/** @param node the executable that runs it. */
export type StartWatchdog = (node: string) => WatchdogProcess;

/** It does very little: V8 needs no thread pool, and the young generation need not grow. */
const FLAGS: readonly string[] = [
	"--v8-pool-size=0",
	"--max-semi-space-size=1",
];
/** Without these Node itself may not start. */
const KEPT_VARIABLES: readonly string[] = [
	"LD_LIBRARY_PATH",
	"DYLD_LIBRARY_PATH",
	"TZ",
	// Node's compile cache, which shortens the start.
	"NODE_COMPILE_CACHE",
];
/** A watchdog that leaves more than this unread is stopped or stuck. */
const UNREAD_LIMIT_BYTES = 4 * 2 ** 20;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Starts a watchdog in its own session; it shares only one pipe with this process. It does not keep the program
 * running.
 *
 * @throws Error when its file is not there, or the system cannot start it.
 */
export function startWatchdog(node: string): WatchdogProcess {
	const { file, flags } = program();
	const command = [...FLAGS, ...flags, file, "--host", String(process.pid)];
	const nothing = openSync("/dev/null", "r+");
	let child: ChildProcess;
	try {
		requireToSpawn(1);
		child = spawn(node, command, {
			detached: true,
			shell: false,
			cwd: "/",
			// That `node` is Node is known; if it is this program all the same, it ends instead of starting another one.
			env: { ...reducedEnvironment(process.env), [NODE_ONLY_VARIABLE]: file },
			stdio: descriptors(inherited(), nothing),
		});
	} finally {
		closeSync(nothing);
	}
	child.on("error", () => {}); // `ready` reports it.
	try {
		return new StartedWatchdog(child, node);
	} catch (error) {
		child.stdio[3]?.destroy(); // It ends with its pipe.
		child.unref();
		throw error;
	}
}

/** Its file, and what Node needs to run it. */
function program(): {
	readonly file: string;
	readonly flags: readonly string[];
} {
	// A checkout runs its sources, even after a build.
	return import.meta.url?.endsWith(".ts")
		? {
				file: ownFile("src/watchdog/program.ts"),
				flags: ["--conditions=snakepit-source"],
			}
		: { file: ownFile("dist/watchdog/program.js"), flags: [] };
}

class StartedWatchdog implements WatchdogProcess {
	readonly pid: number;
	readonly ready: Promise<void>;
	readonly exited: Promise<ProcessExit>;
	readonly #machine = new SystemProcessHost();
	/** `undefined` where it cannot be read, or nothing was started. */
	readonly #identity: ProcessIdentity | undefined;
	readonly #pipe: Socket;

	constructor(child: ChildProcess, node: string) {
		this.#pipe = child.stdio[3] as Socket;
		this.pid = child.pid ?? 0;
		const seen = this.#machine.observe(this.pid);
		this.#identity = typeof seen === "string" ? undefined : seen;
		// `exited` reports its end.
		this.#pipe.on("error", () => {});
		this.exited = exitOf(child);
		this.ready = Promise.race([
			readyOf(this.#pipe),
			failureOf(child, node),
			this.exited.then((exit) => {
				if (exit.kind === "code" && exit.code === NOT_NODE_STATUS)
					throw new ProtectionUnavailable(
						`${node} is not Node, but a copy of this program.`,
						'Name a Node that runs the watchdog: watchdog({ node: "/path/to/node" }).',
					);
				throw new Error(`The watchdog process ended at once, ${shown(exit)}.`);
			}),
		]);
		this.ready.catch(() => {});
		child.unref();
		this.#pipe.unref();
	}

	send(line: string): void {
		if (this.#pipe.destroyed || this.#pipe.writableEnded) return;
		this.#pipe.write(line);
		if (this.#pipe.writableLength > UNREAD_LIMIT_BYTES) this.kill();
	}

	end(): void {
		this.#pipe.end();
	}

	kill(): void {
		// Node reaps several children before it reports the first: the pid may belong to another process by now.
		if (this.#identity !== undefined)
			this.#machine.signal(this.#identity, "SIGKILL");
	}
}

function readyOf(pipe: Socket): Promise<void> {
	return new Promise((resolve) => {
		let received = "";
		pipe.on("data", (chunk: Buffer) => {
			if (received.length < READY.length) received += chunk.toString("latin1");
			if (received === READY) resolve();
		});
	});
}

function failureOf(child: ChildProcess, node: string): Promise<never> {
	return new Promise((_, reject) => {
		child.once("error", (error) => {
			const message = `${node} cannot be started: ${error.message}.`;
			reject(new Error(message, { cause: error }));
		});
	});
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
	return new Promise((resolve) => {
		child.once("error", () => resolve({ kind: "code", code: 127 }));
		child.once("exit", (code, signal) =>
			resolve(
				signal === null
					? { kind: "code", code: code ?? 0 }
					: { kind: "signal", signal },
			),
		);
	});
}

function shown(exit: ProcessExit): string {
	return exit.kind === "code" ? `with code ${exit.code}` : `by ${exit.signal}`;
}

/** Leaves out Node's options, and a run's marker: with it, a watchdog would be mistaken for a worker. */
function reducedEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	return Object.fromEntries(
		KEPT_VARIABLES.flatMap((name) =>
			env[name] === undefined ? [] : [[name, env[name]]],
		),
	);
}

/** Empty input and output, the pipe, and /dev/null in the place of inherited descriptors. */
function descriptors(
	numbers: readonly number[],
	nothing: number,
): ("ignore" | "pipe" | number)[] {
	const last = Math.max(3, ...numbers);
	return Array.from({ length: last + 1 }, (_, descriptor) => {
		if (descriptor === 3) return "pipe";
		return numbers.includes(descriptor) ? nothing : "ignore";
	});
}

/** Descriptors that this process has inherited and would pass on: a reader that waits for their end would also wait for the watchdog. */
function inherited(): readonly number[] {
	try {
		return readdirSync("/proc/self/fdinfo")
			.map(Number)
			.filter((descriptor) => descriptor > 3 && !closesOnExec(descriptor));
	} catch {
		return []; // There is no such directory on macOS, where Node opens no descriptor that is passed on.
	}
}

function closesOnExec(descriptor: number): boolean {
	try {
		const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1");
		const flags = /^flags:\s*([0-7]+)/m.exec(text)?.[1];
		return (
			flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0
		);
	} catch {
		return true; // The descriptor that was used to list the directory.
	}
}
