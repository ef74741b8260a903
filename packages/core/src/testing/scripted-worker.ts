import { ConnectionBrokenError } from "../contract/errors.ts";
import type { ProcessExit } from "../contract/identity.ts";
import type {
	WorkerLogRecord,
	WorkerProcess,
	WorkerSlot,
} from "../contract/launch.ts";
import type { FakeProcess } from "./fake-process.ts";

/** One worker of a scripted adapter, as its commands see it. */
export class ScriptedWorker {
	readonly slot: WorkerSlot;
	/** Which start of this adapter it is, from 1. */
	readonly number: number;
	/** Its process: a command may fork, use memory or ignore signals. */
	readonly process: FakeProcess;
	/** Kept for each session until the session ends. */
	readonly sessions: Map<string, Map<string, unknown>> = new Map();
	/** How many calls it is running. */
	callsRunning = 0;
	/** The most that ever ran at once. */
	mostCallsRunning = 0;
	/** The most prefetched calls that ever waited in it. */
	mostCallsWaiting = 0;

	readonly #worker: WorkerProcess;
	readonly #listeners = new Set<(error: ConnectionBrokenError) => void>();
	#broken: ConnectionBrokenError | undefined;

	constructor(worker: WorkerProcess, process: FakeProcess, number: number) {
		this.slot = worker.slot;
		this.number = number;
		this.process = process;
		this.#worker = worker;
		void worker.exited.then((exit) =>
			this.#lose(this.#error(`ended (${wordsOf(exit)})`)),
		);
	}

	/** Why no call can be taken any more. */
	get broken(): ConnectionBrokenError | undefined {
		return this.#broken;
	}

	/** Settles as `work` does, or rejects when the conversation ends before. */
	async whileConnected<Value>(
		work: () => Promise<Value> | Value,
	): Promise<Value> {
		if (this.#broken) throw this.#broken;
		const lost = Promise.withResolvers<never>();
		this.#listeners.add(lost.reject);
		try {
			return await Promise.race([work(), lost.promise]);
		} finally {
			this.#listeners.delete(lost.reject);
		}
	}

	/** Calls this when the conversation ends. */
	onLost(listener: (error: ConnectionBrokenError) => void): void {
		this.#listeners.add(listener);
	}

	/** Ends the process in the middle of whatever it is doing. */
	crash(exit: ProcessExit = { kind: "signal", signal: "SIGSEGV" }): void {
		this.process.die(exit);
	}

	/** Breaks the conversation while the process runs on. */
	breakConversation(why = "sent an unknown message"): void {
		const error = this.#error(why);
		if (this.#lose(error)) this.#worker.broken(error);
	}

	/** Ends the conversation from the host's side. */
	hangUp(): void {
		this.#lose(this.#error("is disconnected"));
	}

	/** Hands one record of its logging to the host. */
	log(message: string, fields: Partial<WorkerLogRecord> = {}): void {
		this.#worker.log({
			level: "info",
			logger: "scripted",
			message,
			wallMs: 0,
			...fields,
		});
	}

	/** The values kept for one session. */
	session(sessionId: string): Map<string, unknown> {
		const values = this.sessions.get(sessionId) ?? new Map<string, unknown>();
		this.sessions.set(sessionId, values);
		return values;
	}

	#lose(error: ConnectionBrokenError): boolean {
		if (this.#broken) return false;
		this.#broken = error;
		for (const listener of this.#listeners) listener(error);
		return true;
	}

	#error(what: string): ConnectionBrokenError {
		return new ConnectionBrokenError({
			ran: "maybe",
			message: `The scripted worker ${this.slot.workerId} (pid ${this.process.pid}) ${what}.`,
		});
	}
}

function wordsOf(exit: ProcessExit): string {
	return exit.kind === "code" ? `exit code ${exit.code}` : exit.signal;
}
