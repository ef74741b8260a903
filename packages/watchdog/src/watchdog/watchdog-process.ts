import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
	accessSync,
	closeSync,
	constants,
	existsSync,
	openSync,
	readdirSync,
	readFileSync,
	statSync,
} from "node:fs";
// Not `createRequire` by name: webpack would resolve its argument when it builds.
import nodeModule from "node:module";
import type { Socket } from "node:net";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
	type Execution,
	NODE_ONLY_VARIABLE,
	NOT_NODE_STATUS,
	ownExecutable,
	type ProcessExit,
	type ProcessIdentity,
	packageOrigins,
	processExit,
	requireToSpawn,
	SystemProcessHost,
	thisExecution,
} from "@snakepit/core/infrastructure";
import { ProtectionUnavailable } from "@snakepit/core/protection";
import { VERSION } from "../gen/version.ts";
import { READY } from "./message.ts";

const NAME = "@snakepit/watchdog";

/**
 * Finds a file of this package that is started as a program. A bundle does not contain
 * it: there it is taken from the package of exactly this version that is installed where
 * the bundle or the program runs.
 *
 * @param file its path in the package.
 * @throws ProtectionUnavailable when it is not found.
 */
export function ownFile(
	file: string,
	/** The URL of this module; `undefined` in a bundle that is CommonJS. */
	module: string | undefined = import.meta.url,
	execution: Execution = thisExecution(),
): string {
	const origins = packageOrigins(module, execution);
	const path = packageRoots(module, origins)
		.map((root) => join(root, file))
		.find((candidate) => existsSync(candidate));
	if (path !== undefined) return path;
	const own = ownExecutable(execution);
	const beside =
		own === undefined
			? "where the program runs"
			: `in ${dirname(own)}, beside the executable that contains the program`;
	const from = new Set(origins.map((origin) => fileOf(origin) ?? origin));
	throw new ProtectionUnavailable(
		`This program needs the file ${file} of the package ${NAME} ${VERSION}. A bundle does not contain it, and the package was not found from ${[...from].join(" nor from ") || "here"}.`,
		`Run npm install ${NAME}@${VERSION} ${beside}. A tool that copies only traced files, such as Next.js with "standalone", must be configured to copy this package and its dependencies.`,
	);
}

/** The directories of this package, in exactly this version. */
function packageRoots(
	module: string | undefined,
	origins: readonly string[],
): readonly string[] {
	const own = fileOf(module);
	// This module is in `src/watchdog` or `dist/watchdog` of the package.
	const around = own === undefined ? [] : [join(dirname(own), "../..")];
	return [...around, ...origins.flatMap(installedFrom)].filter(isThisPackage);
}

function fileOf(module: string | undefined): string | undefined {
	return module?.startsWith("file:") ? fileURLToPath(module) : undefined;
}

function installedFrom(origin: string): readonly string[] {
	try {
		const { resolve } = nodeModule.createRequire(origin);
		return [dirname(resolve(`${NAME}/package.json`))];
	} catch {
		return []; // Not installed there.
	}
}

function isThisPackage(root: string): boolean {
	try {
		const text = readFileSync(join(root, "package.json"), "utf8");
		const { name, version } = JSON.parse(text);
		return name === NAME && version === VERSION;
	} catch {
		return false;
	}
}

/** What decides which Node is started; given in tests. */
interface NodeSearch {
	/** The option `node`. */
	readonly named: string | undefined;
	readonly execution: Execution;
	/** The variable PATH. */
	readonly path: string | undefined;
}

/** A Node that is not ready to answer after this time is not used. */
const PROOF_LIMIT_MS = 10_000;
/** The native module of the ledger needs it. */
const OLDEST_MAJOR = 22;
/** Printed by the candidate itself: `node` in PATH may be a script that starts one. */
const PROOF =
	"JSON.stringify({ execPath: process.execPath, versions: process.versions })";

/**
 * The path of a Node that can run a file. That is the one which runs this program, if Node runs it from a file; else it
 * is a Node that has proven to be one by its answer.
 *
 * @throws ProtectionUnavailable with the candidates that are none.
 */
export async function findNode(
	{ named, execution, path }: NodeSearch,
	limitMs: number = PROOF_LIMIT_MS,
): Promise<string> {
	if (named !== undefined) {
		const proof = await prove(named, limitMs);
		if ("execPath" in proof) return proof.execPath;
		throw new ProtectionUnavailable(
			`The watchdog's option "node" is ${named}. It ${proof.isNot}.`,
			`Name the executable of a Node ${OLDEST_MAJOR} or newer.`,
		);
	}
	if (isNode(execution)) return execution.execPath;
	const refused: string[] = [];
	for (const candidate of candidates(path, execution.execPath)) {
		const proof = await prove(candidate, limitMs);
		if ("execPath" in proof) return proof.execPath;
		refused.push(`${candidate} ${proof.isNot}`);
	}
	throw new ProtectionUnavailable(
		`The watchdog is a program for Node. ${whatItIs(execution)}, and no Node was found in PATH${refused.length === 0 ? "" : ` (${refused.join("; ")})`}.`,
		`Install Node ${OLDEST_MAJOR} or newer where the program runs, or name one: watchdog({ node: "/path/to/node" }).`,
	);
}

/** What decides which Node this program uses. */
export function nodeSearch(named: string | undefined): NodeSearch {
	return { named, execution: thisExecution(), path: process.env["PATH"] };
}

/** Whether the executable of this program, given a file, runs that file. */
function isNode(execution: Execution): boolean {
	return execution.runtime === "Node" && ownExecutable(execution) === undefined;
}

function whatItIs(execution: Execution): string {
	const { execPath, runtime } = execution;
	return ownExecutable(execution) === undefined
		? `This program is run by ${runtime}`
		: `${execPath} is this program itself`;
}

/** What PATH has as `node`, each file once, but for this very program. A relative directory may be anybody's. */
function* candidates(path = "", own: string): Generator<string> {
	const tried = new Set([fileNumber(own)]);
	for (const directory of path.split(delimiter).filter(isAbsolute)) {
		const candidate = join(directory, "node");
		const number = fileNumber(candidate);
		if (number === undefined || tried.has(number)) continue;
		tried.add(number);
		yield candidate;
	}
}

/** Tells an executable file from others, whatever its names; `undefined` if it is none. */
function fileNumber(path: string): string | undefined {
	try {
		accessSync(path, constants.X_OK);
		const { dev, ino } = statSync(path);
		return `${dev}:${ino}`;
	} catch {
		return undefined;
	}
}

type Proof = { readonly execPath: string } | { readonly isNot: string };

/** Has a candidate evaluate an expression, within a limit. If it is a copy of this program instead, it ends at once. */
async function prove(candidate: string, limitMs: number): Promise<Proof> {
	requireToSpawn(1);
	const { NODE_OPTIONS: _, ...env } = process.env;
	const output = await new Promise<string | Error>((resolve) => {
		execFile(
			candidate,
			["-p", PROOF],
			{
				cwd: "/",
				env: { ...env, [NODE_ONLY_VARIABLE]: "-p" },
				timeout: limitMs,
				killSignal: "SIGKILL",
				maxBuffer: 65_536,
			},
			(error, stdout) => resolve(error ?? stdout),
		);
	});
	return output instanceof Error
		? failedProof(output, limitMs)
		: parseProof(output);
}

function failedProof(
	error: Error & { code?: unknown; killed?: boolean },
	limitMs: number,
): Proof {
	if (error.killed === true)
		return { isNot: `did not answer within ${limitMs / 1000} s` };
	if (error.code === NOT_NODE_STATUS)
		return { isNot: "is not Node, but a copy of this program" };
	return { isNot: `is not Node (it ended with ${error.code ?? "a signal"})` };
}

function parseProof(output: string): Proof {
	try {
		const { execPath, versions } = JSON.parse(output);
		for (const other of ["bun", "deno", "electron", "nw"])
			if (other in versions) return { isNot: `is not Node, but ${other}` };
		if (!(Number.parseInt(versions.node, 10) >= OLDEST_MAJOR))
			return { isNot: `is Node ${versions.node}` };
		if (typeof execPath === "string" && isAbsolute(execPath))
			return { execPath };
	} catch {
		// Not what Node prints.
	}
	return { isNot: "is not Node: it did not evaluate an expression" };
}

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
	/** Kills it. */
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
			stdio: descriptors(inheritedDescriptors(), nothing),
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
		const observation = this.#machine.observe(this.pid);
		this.#identity = typeof observation === "string" ? undefined : observation;
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
				throw new Error(
					`The watchdog process ended at once, ${exitText(exit)}.`,
				);
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
		child.once("exit", (code, signal) => resolve(processExit(code, signal)));
	});
}

function exitText(exit: ProcessExit): string {
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
function inheritedDescriptors(): readonly number[] {
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
