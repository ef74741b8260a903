import {
	type Affinity,
	checkExecuteOptions,
	type ExecuteOptions,
} from "./calls/call-options.ts";
import type { Calls } from "./calls/calls.ts";
import type { Session, SessionTable } from "./placement/session-table.ts";
import type { PoolSession } from "./pool.ts";
import { type CallStream, callStream } from "./work/call-stream.ts";
import type { LeaseOptions, LeaseTask } from "./work/lease.ts";

/** A session as its users hold it. */
export class OpenSession implements PoolSession {
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
		session.calls = this;
	}

	get incarnation(): string | undefined {
		return this.#session.incarnation;
	}

	execute(
		command: string,
		args?: unknown,
		options?: ExecuteOptions,
	): Promise<unknown> {
		return this.#calls.execute(command, args, options, this.#session);
	}

	stream(
		command: string,
		args?: unknown,
		options: ExecuteOptions = {},
	): CallStream<unknown> {
		checkExecuteOptions("session.stream", options);
		return callStream(this.#calls, command, args, options, this.#session);
	}

	use<Result>(
		task: LeaseTask<unknown, Result>,
		options: LeaseOptions = {},
	): Promise<Result> {
		return this.#calls.lease(task, options, this.#session);
	}

	close(): void {
		this.#sessions.end(this.#session, "closed");
	}

	[Symbol.dispose](): void {
		this.close();
	}
}
