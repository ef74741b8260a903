import type { PingAnswer } from "../frames/frames.ts";

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
