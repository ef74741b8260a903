import type { Affinity, ExecuteOptions } from "./call-options.ts";
import { checkExecuteOptions } from "./call-options.ts";
import { type CallStream, callStream } from "./call-stream.ts";
import type { Calls } from "./calls.ts";
import type { Session, SessionTable } from "./session-table.ts";
import type {
	AnswerCommandOf,
	CallParametersOf,
	ChunkOf,
	ResultOf,
	StreamCommandOf,
	StreamResultOf,
	ToolMap,
	UntypedTools,
} from "./tools.ts";

/**
 * Calls that find each other's state in the worker. Close it when it is over, or
 * let it expire (`sessions.ttlMs`).
 */
export class PoolSession<Tools extends ToolMap = UntypedTools>
	implements Disposable
{
	readonly id: string;
	readonly affinity: Affinity;
	readonly #calls: Calls;
	readonly #sessions: SessionTable;
	readonly #session: Session;

	constructor(calls: Calls, sessions: SessionTable, session: Session) {
		this.id = session.id;
		this.affinity = session.affinity;
		this.#calls = calls;
		this.#sessions = sessions;
		this.#session = session;
	}

	/** The process that holds its state; `undefined` before its first call. */
	get incarnation(): string | undefined {
		return this.#session.incarnation;
	}

	/** @throws as `Pool.execute`; WorkerLostError `SESSION_LOST` when a strict session's worker is gone. */
	execute<Command extends AnswerCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): Promise<ResultOf<Tools, Command>>;
	execute(
		command: string,
		args?: unknown,
		options?: ExecuteOptions,
	): Promise<unknown> {
		return this.#calls.execute(command, args, options, this.#session);
	}

	/** @throws as `Pool.stream`, from the iteration. */
	stream<Command extends StreamCommandOf<Tools>>(
		command: Command,
		...given: CallParametersOf<Tools, Command>
	): CallStream<ChunkOf<Tools, Command>, StreamResultOf<Tools, Command>>;
	stream(
		command: string,
		args?: unknown,
		options: ExecuteOptions = {},
	): CallStream<unknown> {
		checkExecuteOptions("session.stream", options);
		return callStream(this.#calls, command, args, options, this.#session);
	}

	/** The worker drops its state. Idempotent. */
	close(): void {
		this.#sessions.end(this.#session, "closed");
	}

	[Symbol.dispose](): void {
		this.close();
	}
}
