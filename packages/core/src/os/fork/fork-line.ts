import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import type { Clock } from "../../contract/clock.ts";
import {
	INCARNATION_VARIABLE,
	type ProcessIdentity,
} from "../../contract/identity.ts";
import type {
	ProcessHost,
	ProcessSpec,
	StartedProcess,
} from "../../contract/world.ts";
import { afterRunning, Gate } from "../../deadline.ts";
import { canBeInherited } from "../descriptors.ts";
import { descriptorsUnsupported, spawnFailed } from "../spawn-failure.ts";
import { Fork } from "./fork.ts";
import {
	type Answer,
	type AnswerOf,
	encodeRequest,
	FrameReader,
	parseAnswer,
	type Request,
} from "./request.ts";

/** Each has up to eight connections on their way at once, and an old kernel lets 128 wait. */
const STARTS_AT_ONCE = 16;

/** A start takes milliseconds. A process that was stopped, or hangs, would hold it for ever. */
const ANSWER_LIMIT_MS = 60_000;

/** What a line is made with. */
export interface ForkLineSetting {
	/** The conversation with the process that forks. */
	readonly connection: Socket;
	/** Where it takes the connections that become a worker's descriptors. */
	readonly socketPath: string;
	/** The name of the process source, for events. */
	readonly source: string;
	/** The highest number of a descriptor that it gives to workers. */
	readonly highestDescriptor: number;
	readonly host: ProcessHost;
	readonly clock: Clock;
	/** Called with what the process reports about itself. */
	readonly answered?: (answer: Exclude<Answer, AnswerOf>) => void;
	/** Called once, when it takes no more requests: its workers are lost, too. */
	readonly lost: (error: Error) => void;
	/** Called after that, when its messages cannot be understood, or it does not answer: it has to be ended. */
	readonly broken: () => void;
}

/**
 * The conversation with another process that forks workers for this program:
 * a guard, or a preloaded parent. A worker is held until it is recorded here.
 */
export class ForkLine {
	readonly #setting: ForkLineSetting;
	readonly #reader = new FrameReader();
	readonly #forks = new Map<number, Fork>();
	#lastId = 0;
	readonly #gate = new Gate(STARTS_AT_ONCE);
	/** Set at the first sign that the process ends. */
	#lost: Error | undefined;

	constructor(setting: ForkLineSetting) {
		this.#setting = setting;
		const { connection } = setting;
		connection.on("error", (error) => this.lose(error));
		connection.on("close", () =>
			this.lose(new Error(`the ${setting.source} has closed the conversation`)),
		);
		connection.on("data", (data: Buffer) => this.#receive(data));
		// An idle pool does not hold the program open.
		connection.unref();
	}

	get isLost(): boolean {
		return this.#lost !== undefined;
	}

	/** Whether a start can connect: something may have removed the socket, or this program be another user's by now. */
	get isReachable(): boolean {
		return existsSync(this.#setting.socketPath);
	}

	/** Starts a worker; see {@link ProcessSource.start}. */
	async fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		const { source, highestDescriptor } = this.#setting;
		if (!canBeInherited(spec, highestDescriptor))
			throw descriptorsUnsupported(spec, source, highestDescriptor);
		const leave = await this.#gate.enter();
		try {
			return await this.#fork(spec, record);
		} finally {
			leave();
		}
	}

	/** Asks it to end its workers and itself. */
	end(): void {
		this.#send({ type: "end" });
	}

	/** Ends the conversation, at the first sign that the process ends. */
	lose(error: Error): void {
		if (this.#lost !== undefined) return;
		this.#lost = error;
		this.#setting.lost(error);
		this.#setting.connection.destroy();
		const forks = [...this.#forks.values()];
		this.#forks.clear();
		for (const fork of forks) fork.lost(error);
	}

	async #fork(
		spec: ProcessSpec,
		record: (identity: ProcessIdentity) => void,
	): Promise<StartedProcess> {
		if (this.#lost !== undefined) throw spawnFailed(this.#lost, spec);
		const { socketPath, host, clock, source } = this.#setting;
		const id = ++this.#lastId;
		const fork = new Fork(id, spec.env[INCARNATION_VARIABLE], spec, record, {
			socketPath,
			source,
			host,
			clock,
			send: (request) => this.#send(request),
			forget: (forgotten) => this.#forks.delete(forgotten),
			deserted: (error) => this.#break(error),
		});
		if (fork.isGoing) this.#forks.set(id, fork);
		const limit = afterRunning(clock, ANSWER_LIMIT_MS, () =>
			this.#break(
				new Error(
					`the ${source} did not start a process within ${ANSWER_LIMIT_MS / 1_000} s`,
				),
			),
		);
		try {
			return await fork.started;
		} finally {
			limit.cancel();
		}
	}

	#send(request: Request): boolean {
		const frame = encodeRequest(request);
		if (frame === undefined) return false;
		// After the loss nothing is sent, and the forks have failed already.
		if (this.#lost === undefined) this.#setting.connection.write(frame);
		return true;
	}

	#receive(data: Buffer): void {
		if (this.#lost !== undefined) return;
		try {
			for (const message of this.#reader.feed(data))
				this.#answered(parseAnswer(message));
		} catch (error) {
			this.#break(error as Error);
		}
	}

	#break(error: Error): void {
		if (this.#lost !== undefined) return;
		this.lose(error);
		this.#setting.broken();
	}

	#answered(answer: Answer): void {
		switch (answer.type) {
			case "ready":
			case "crashed":
			case "ended":
				this.#setting.answered?.(answer);
				return;
			default:
				this.#forks.get(answer.id)?.answered(answer);
		}
	}
}
