import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Duplex, Readable } from "node:stream";
import type {
	Adapter,
	Connection,
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "@snakepit/core/adapter";
import type { ProcessExit, RunId } from "@snakepit/core/infrastructure";
import { onTestFinished } from "vitest";

export interface StartOptions {
	readonly callsPerWorker?: number;
	/** What the adapter gets instead of the worker's own token. */
	readonly token?: string;
	/** What the adapter gets instead of the ready line of the worker. */
	readonly ready?: unknown;
}

/** A worker started as docs/bridge-protocol.md says, without core's machinery around it. */
export interface TestWorker {
	readonly sharedDirectory: string | undefined;
	readonly connection: Connection;
	readonly process: WorkerProcess;
	readonly logs: readonly WorkerLogRecord[];
	readonly brokenBy: readonly Error[];
	readonly stderr: readonly string[];
	kill(): void;
}

/** Says what to do at the end; what is said last is done first. */
export type AtEnd = (end: () => void | PromiseLike<void>) => void;

function removedAtEnd(atEnd: AtEnd, prefix: string): string {
	const directory = mkdtempSync(prefix);
	atEnd(() => rmSync(directory, { recursive: true, force: true }));
	return directory;
}

/** Starts one; it is gone when the test is finished, or at another end. */
export async function startPythonWorker(
	adapter: Adapter,
	options: StartOptions = {},
	atEnd: AtEnd = onTestFinished,
): Promise<TestWorker> {
	const directory = removedAtEnd(atEnd, join(tmpdir(), "snp-"));
	// As core makes it.
	const sharedDirectory = existsSync("/dev/shm")
		? removedAtEnd(atEnd, "/dev/shm/snakepit-test-")
		: undefined;
	const lifeline = await listenLifeline(join(directory, "l"));
	const slot: WorkerSlot = {
		pool: "test",
		index: 0,
		slots: 2,
		workerId: "test-0",
		incarnation: "aaaaa00-1",
		runId: "aaaaa00" as RunId,
		directory,
		sharedDirectory,
		callsPerWorker: options.callsPerWorker ?? 1,
		startTimeoutMs: 60_000,
	};
	await adapter.prepare?.(new AbortController().signal);
	const spec = await adapter.launch(slot, new AbortController().signal);
	const child = spawn(spec.executable, spec.args ?? [], {
		env: { ...process.env, ...spec.env },
		...(spec.cwd !== undefined && { cwd: spec.cwd }),
		detached: true,
		stdio: ["ignore", "pipe", "pipe", "pipe"],
	});
	const exited = exitOf(child);
	atEnd(async () => {
		lifeline.close();
		child.kill("SIGKILL");
		await exited;
	});
	const stderr: string[] = [];
	createInterface({ input: child.stderr as Readable }).on("line", (line) =>
		stderr.push(line),
	);
	(child.stdout as Readable).resume();
	const token = randomBytes(32).toString("hex");
	const ready = await shakeHands(child.stdio[3] as Duplex, {
		snakepit: 1,
		runId: slot.runId,
		workerId: slot.workerId,
		incarnation: slot.incarnation,
		lifeline: lifeline.path,
		directory,
		token,
		payload: spec.launchPayload,
	});
	if (!("ready" in ready))
		throw Object.assign(new Error(JSON.stringify(ready)), { stderr });
	const logs: WorkerLogRecord[] = [];
	const brokenBy: Error[] = [];
	const worker: WorkerProcess = {
		slot,
		pid: child.pid ?? 0,
		ready: "ready" in options ? options.ready : ready.ready,
		token: options.token ?? token,
		stdin: undefined,
		stdout: undefined,
		exited,
		descriptor: () => none(),
		listener: () => none(),
		line: () => Promise.reject(new Error("this worker's lines are not kept")),
		notify: () => {},
		log: (record) => logs.push(record),
		starting: () => {},
		broken: (error) => brokenBy.push(error),
	};
	const connection = await adapter.connect(worker, AbortSignal.timeout(60_000));
	atEnd(() => connection[Symbol.asyncDispose]());
	const kill = (): void => {
		child.kill("SIGKILL");
	};
	return {
		connection,
		process: worker,
		sharedDirectory,
		logs,
		brokenBy,
		stderr,
		kill,
	};
}

async function shakeHands(
	control: Duplex,
	launch: object,
): Promise<{ readonly ready?: unknown; readonly failed?: unknown }> {
	control.write(`${JSON.stringify(launch)}\n`);
	control.on("error", () => {}); // The worker is gone: the missing line says so.
	for await (const line of createInterface({ input: control }))
		return JSON.parse(line) as object;
	return {};
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
	return new Promise((resolve) =>
		child.on("exit", (code, signal) =>
			resolve(
				signal === null
					? { kind: "code", code: code ?? -1 }
					: { kind: "signal", signal },
			),
		),
	);
}

async function listenLifeline(
	path: string,
): Promise<{ readonly path: string; close(): void }> {
	const sockets = new Set<Socket>();
	const server: Server = createServer((socket) => {
		sockets.add(socket);
		socket.on("error", () => {});
	});
	await new Promise<void>((resolve) => server.listen(path, resolve));
	return {
		path,
		close: () => {
			server.close();
			for (const socket of sockets) socket.destroy();
		},
	};
}

function none(): never {
	throw new TypeError("This worker has no descriptors of its own.");
}
