import type { Adapter } from "../../adapter.ts";
import type { Clock } from "../../world.ts";

/** Whether a command answers once or with a stream. */
export type CallShape = "unary" | "stream";

/** A worker that is busy in one long step may not answer sooner than its call ends. */
const PATIENCE_MS = 2_000;

/** How the commands of a pool answer, as its adapter describes them. It is asked about a command once. */
export class CallShapes {
	readonly #adapter: Pick<Adapter, "describe">;
	readonly #clock: Clock;
	readonly #known = new Map<string, CallShape>();

	constructor(adapter: Pick<Adapter, "describe">, clock: Clock) {
		this.#adapter = adapter;
		this.#clock = clock;
	}

	/** `undefined` where the adapter cannot say, or no worker can now. Never rejects. */
	async of(
		command: string,
		signal: AbortSignal,
	): Promise<CallShape | undefined> {
		if (!this.#known.has(command)) await this.#ask(signal).catch(() => {});
		return this.#known.get(command);
	}

	/** Remembers what a call has shown: the tools of a pool may change while it runs. */
	learn(command: string, shape: CallShape): void {
		this.#known.set(command, shape);
	}

	async #ask(signal: AbortSignal): Promise<void> {
		const patience = new AbortController();
		const timer = this.#clock.after(PATIENCE_MS, () => patience.abort());
		try {
			const either = AbortSignal.any([signal, patience.signal]);
			const commands = await this.#adapter.describe?.(either);
			for (const { name, shape } of commands ?? [])
				if (shape !== undefined) this.#known.set(name, shape);
		} finally {
			timer.cancel();
		}
	}
}
