import { callAnswer } from "./call-answer.ts";
import type { Affinity, ExecuteOptions } from "./call-options.ts";
import { checkExecuteOptions } from "./call-options.ts";
import { type CallStream, type CallTaker, callStream } from "./call-stream.ts";
import type { Session } from "./session-table.ts";
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
	readonly #taker: CallTaker;
	readonly #session: Session;
	readonly #end: () => void;

	constructor(taker: CallTaker, session: Session, end: () => void) {
		this.id = session.id;
		this.affinity = session.affinity;
		this.#taker = taker;
		this.#session = session;
		this.#end = end;
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
		options: ExecuteOptions = {},
	): Promise<unknown> {
		return callAnswer(this.#taker, command, args, options, this.#session);
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
		return callStream(this.#taker, command, args, options, this.#session);
	}

	/** The worker drops its state. Idempotent. */
	close(): void {
		this.#end();
	}

	[Symbol.dispose](): void {
		this.close();
	}
}
