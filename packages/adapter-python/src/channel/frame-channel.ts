import type { WorkerProcess } from "@snakepit/core/adapter";
import type { FrameCodec, PingAnswer, ToolRecord } from "../frames/frames.ts";

/**
 * In both directions, the bytes of a frame up to this size are valid only until the call that passes them returns; then
 * they may be overwritten. The bytes of a larger frame belong to its receiver.
 */
export const LENT_BYTES: number = 16 * 1024;

/**
 * How frames reach one worker: whatever carries bytes both ways in order. A package
 * that has another transport implements it.
 */
export interface FrameChannel {
	readonly codec: FrameCodec;
	/**
	 * Sends one frame; the order is kept. Drops it if the channel is over.
	 *
	 * @param when `"now"`: it does not wait for other frames of this turn, if the transport can do that.
	 */
	send(frame: Uint8Array, when?: "now"): void;
	/** Resolves when there is room for more: at once unless the worker reads slowly. Never rejects. */
	drained(): Promise<void>;
	/** Announces that no more frames will follow; the worker's frames still arrive. */
	end(): void;
	/** Closes everything. The listener is no longer called. */
	close(): void;
	/** Rejects with the signal's reason when that is first. */
	ping(sequence: number, signal: AbortSignal): Promise<PingAnswer>;
	/** Rejects with the signal's reason when that is first. */
	describe(signal: AbortSignal): Promise<readonly ToolRecord[]>;
	/** For sideband data, if the worker is behind a relay. */
	readonly sideband?: SidebandPort | undefined;
}

/** Instructions to a relay for the files of the worker's attachments, in order with the frames. */
export interface SidebandPort {
	/** Writes to the beginning of a file, and creates it if necessary. The parts are copied. */
	send(name: string, parts: readonly Uint8Array[], size: number): void;
	/** Frees the memory of a file beyond this many bytes. */
	shortened(name: string, bytes: number): void;
	/** Forgets a file. */
	closed(name: string): void;
}

/** Called by a channel: with frames, then once when it is over. */
export interface FrameListener {
	/** The frame is the bytes from `begin` to `end`. The first one may come before the channel is open. */
	frame(bytes: Uint8Array, begin: number, end: number, codec: FrameCodec): void;
	/** @param error absent when the worker ended the conversation in order. */
	over(error: Error | undefined): void;
	/** Sideband data that precedes its frame, if the worker is behind a relay; they belong to the listener. */
	sideband?(name: string, offset: number, bytes: Uint8Array): void;
}

/** Where a worker listens. */
export interface WorkerAddress {
	/** The path of its Unix socket. */
	readonly socket: string;
	readonly token: string;
	/** The limit of one frame, both ways. */
	readonly maxMessageBytes: number;
	/** The worker itself, with the facts that it and its companion reported; absent outside a pool. */
	readonly worker?: Pick<WorkerProcess, "slot" | "ready"> | undefined;
}

interface Pending {
	readonly resolve: (response: PingAnswer) => void;
	readonly reject: (error: unknown) => void;
}

/** Unanswered pings of a channel, by sequence number. */
export class PendingPings {
	private readonly pending = new Map<number, Pending>();

	/** Resolves to the answer; rejects with the signal's reason if the signal aborts first. @param send sends the ping. */
	ask(
		sequence: number,
		signal: AbortSignal,
		send: () => void,
	): Promise<PingAnswer> {
		return new Promise((resolve, reject) => {
			signal.throwIfAborted();
			const over = (): void => {
				this.pending.delete(sequence);
				signal.removeEventListener("abort", abort);
			};
			const abort = (): void => {
				over();
				reject(signal.reason);
			};
			signal.addEventListener("abort", abort);
			this.pending.set(sequence, {
				resolve: (response) => {
					over();
					resolve(response);
				},
				reject: (error) => {
					over();
					reject(error);
				},
			});
			send();
		});
	}

	/** An answer came; one to a ping that was aborted is dropped. */
	answered(response: PingAnswer): void {
		this.pending.get(response.sequence)?.resolve(response);
	}

	/** No answer will come. */
	fail(error: Error): void {
		for (const { reject } of [...this.pending.values()]) reject(error);
	}
}
