import type { DescribeResponse, PingResponse } from "../gen/bridge.ts";

/**
 * How frames reach one worker: whatever carries bytes both ways in order. A package
 * that has another transport implements it.
 */
export interface FrameChannel {
	/** Takes one frame; the order is kept. Dropped when the channel is over. */
	send(frame: Uint8Array): void;
	/** Sends now what waits for the rest of this turn; absent where the transport cannot. */
	flush?(): void;
	/** Resolves when there is room for more: at once unless the worker reads slowly. Never rejects. */
	drained(): Promise<void>;
	/** Announces that no more frames will come; those of the worker still arrive. */
	end(): void;
	/** Closes everything. The listener is not called any more. */
	close(): void;
	/** Rejects with the signal's reason when that is first. */
	ping(sequence: number, signal: AbortSignal): Promise<PingResponse>;
	/** Rejects with the signal's reason when that is first. */
	describe(signal: AbortSignal): Promise<DescribeResponse>;
}

/** Called by a channel: with frames, then once when it is over. */
export interface FrameListener {
	frame(frame: Uint8Array): void;
	/** @param error absent when the worker ended the conversation in order. */
	over(error: Error | undefined): void;
}

/** Where a worker listens. */
export interface WorkerAddress {
	/** The path of its Unix socket. */
	readonly socket: string;
	readonly token: string;
	/** The limit of one frame, both ways. */
	readonly maxMessageBytes: number;
}
