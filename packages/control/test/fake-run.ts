import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { onTestFinished } from "vitest";
import { ControlClient } from "../src/control-client.ts";
import { type ControlServer, serveControl } from "../src/control-server.ts";
import type {
	CallMeter,
	ControlClock,
	ControlledEvent,
	ControlledPool,
	ControlledRun,
	ControlScope,
	FailedCall,
	LogBacklog,
	PoolSnapshot,
	RecordedRequest,
	RunningCall,
	RunSnapshot,
	SaidClient,
	WorkerSnapshot,
} from "../src/controlled-run.ts";

export const TOKEN: string = "f".repeat(64);

/** The clock of the program; its timers keep the test open, which ends by itself. */
export const clock: ControlClock = {
	now: () => performance.now(),
	after: (ms, action) => {
		const timer = setTimeout(action, ms);
		return { cancel: () => clearTimeout(timer) };
	},
};

export function workerSnapshot(
	more: Partial<WorkerSnapshot> = {},
): WorkerSnapshot {
	return {
		workerId: "demo-0",
		incarnation: "abcdefg-1",
		pid: 4_242,
		location: null,
		state: "ready",
		readyMs: 1_000,
		callsTaken: 3,
		running: [],
		heartbeat: null,
		facts: {},
		recycle: { inMs: null, inCalls: null, aboveResidentBytes: null },
		usage: null,
		...more,
	};
}

export function runningCall(more: Partial<RunningCall> = {}): RunningCall {
	return {
		...{ callId: "abcdefg-c1", command: "echo", forMs: 10, sessionId: null },
		...{ cancelled: false, attempt: 1, waitedMs: 0, failedAttempts: [] },
		...{ usual: null, reportedMs: null },
		...more,
	};
}

export function poolSnapshot(more: Partial<PoolSnapshot> = {}): PoolSnapshot {
	return {
		pool: "demo",
		adapter: "fake",
		phase: "open",
		size: { min: 1, max: 1 },
		callsPerWorker: 1,
		workers: [workerSnapshot()],
		restarts: 0,
		starts: {
			failuresInARow: 0,
			budget: { spent: 0, max: 20, windowMs: 60_000 },
			next: null,
		},
		lastFailure: null,
		failureTimes: [],
		recentCalls: { windowMs: 60_000, ended: 0, failed: 0, last: null },
		sessions: 0,
		calls: {
			...{ accepted: 0, waiting: 0, running: 0 },
			...{ succeeded: 0, failed: 0, aborted: 0, timed_out: 0 },
		},
		queue: {
			...{ waiting: 0, limit: 1_000, counted: 0, oldestMs: null, why: null },
			...{ byPriority: [], byCommand: [] },
		},
		health: { live: true, ready: true, reasons: [] },
		...more,
	};
}

interface Ended {
	readonly pool: string;
	readonly command: string;
	readonly outcome: string;
	readonly totalMs: number;
}

type Listener = (event: ControlledEvent) => void;

/** A run whose events and answers the test decides. */
export class FakeRun implements ControlledRun {
	pools: readonly PoolSnapshot[] = [poolSnapshot()];
	failed: readonly FailedCall[] = [];
	readonly recorded: RecordedRequest[] = [];
	readonly listeners: Record<"events" | "logs", Set<Listener>> = {
		events: new Set(),
		logs: new Set(),
	};
	readonly meters: Set<CallMeter> = new Set();
	usages = 0;
	controlled: ControlledPool = {
		act: async () => ({}),
		call: async ({ command, args }) => ({ command, args }),
		tools: () => undefined,
		stacks: async (worker) => ({
			...{ pool: "demo", workerId: worker, incarnation: "abcdefg-1" },
			...{ pid: 4_242, wallMs: 3, how: "asked", lines: ["a stack"] },
			running: [],
		}),
	};
	kept: LogBacklog = { events: [], dropped: new Map() };

	look(): RunSnapshot {
		return {
			...{ runId: "abcdefg", pid: process.pid, program: "fake.ts" },
			...{ dataDir: "/nowhere", startedAtMs: 1, wallMs: 2 },
			...{ versions: {}, protections: [], scopes: [], pools: this.pools },
			unwritten: 0,
		};
	}

	usage(): ReturnType<ControlledRun["usage"]> {
		this.usages++;
		const usage = { residentBytes: 1 << 20, cpuTimeMs: 100 * this.usages };
		return new Map([["abcdefg-1", usage]]);
	}

	subscribe(
		kind: "events" | "logs",
		listener: (event: ControlledEvent) => void,
		meter?: CallMeter,
	): () => void {
		this.listeners[kind].add(listener);
		if (meter !== undefined) this.meters.add(meter);
		return () => {
			this.listeners[kind].delete(listener);
			if (meter !== undefined) this.meters.delete(meter);
		};
	}

	failedCalls(): readonly FailedCall[] {
		return this.failed;
	}

	backlog(): LogBacklog {
		return this.kept;
	}

	pool(name: string): ControlledPool | undefined {
		return name === "demo" ? this.controlled : undefined;
	}

	clientName({ name }: SaidClient): string {
		return name;
	}

	record(request: RecordedRequest): void {
		this.recorded.push(request);
	}

	happened(kind: "events" | "logs", event: ControlledEvent): void {
		if (event.type === "call.settled") {
			const { pool, command, outcome, totalMs } = event as unknown as Ended;
			for (const meter of this.meters) meter(pool, command, outcome, totalMs);
		}
		for (const listener of this.listeners[kind]) listener(event);
	}
}

export interface Served {
	readonly run: FakeRun;
	readonly server: ControlServer;
	readonly socketPath: string;
	readonly listener: Server;
}

/** Serves a fake run on a socket below a temporary directory, until the test has finished. */
export async function serve(
	scopes: readonly ControlScope[] = ["read", "logs", "act", "call"],
	time: ControlClock = clock,
): Promise<Served> {
	const directory = mkdtempSync(join(tmpdir(), "control-"));
	const run = new FakeRun();
	const server = serveControl({ run, clock: time, token: TOKEN, scopes });
	const listener = createServer((socket) => server.accept(socket));
	const socketPath = join(directory, "control.sock");
	await new Promise<void>((resolve) => listener.listen(socketPath, resolve));
	onTestFinished(() => {
		server.close();
		listener.close();
		rmSync(directory, { recursive: true });
	});
	return { run, server, socketPath, listener };
}

/** Sends bytes as they are, and returns everything that comes back before the end. */
export async function exchange(
	socketPath: string,
	text: string,
): Promise<string> {
	const socket = connect(socketPath);
	socket.write(text);
	let answer = "";
	for await (const chunk of socket) answer += String(chunk);
	return answer;
}

/** A client of a served run. */
export function clientOf(
	{ socketPath }: Pick<Served, "socketPath">,
	token: string = TOKEN,
	silentMs: number = 5_000,
): ControlClient {
	return new ControlClient({
		run: {
			...{ runId: "abcdefg", pid: process.pid, program: "fake.ts" },
			...{ dataDir: "/nowhere", startedAtMs: 1, directory: "/nowhere" },
		},
		...{ socketPath, token, by: "a test", silentMs },
	});
}
