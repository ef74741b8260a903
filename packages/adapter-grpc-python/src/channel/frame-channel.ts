import type { DescribeResponse, PingResponse } from "../gen/bridge.ts";

/**
 * How frames reach one worker. gRPC is the first; whatever carries bytes both
 * ways in order can take its place, and nothing outside this folder knows.
 */
export interface FrameChannel {
	/** Takes one frame; the order is kept. Dropped when the channel is over. */
	send(frame: Uint8Array): void;
	/** Has what was sent leave now, where the transport can: by default it leaves with what else is sent in this turn. */
	flush(): void;
	/** Settles when there is room for more: at once unless the worker reads slowly. Never rejects. */
	drained(): Promise<void>;
	/** Says that no more frames will come; those of the worker still arrive. */
	end(): void;
	/** Lets go of everything. The listener hears nothing more. */
	close(): void;
	/** Rejects with the signal's reason when that is first. */
	ping(sequence: number, signal: AbortSignal): Promise<PingResponse>;
	/** Rejects with the signal's reason when that is first. */
	describe(signal: AbortSignal): Promise<DescribeResponse>;
}

/** Hears a channel: frames, then once that it is over. */
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
