import { setTimeout as pause } from "node:timers/promises";
import {
	type ControlClient,
	ControlError,
	type RunUpdate,
} from "@snakepit/control";
import type { RunSource } from "./run-source.ts";

/** The process's clock. */
export interface DashClock {
	/** Resolves after the given milliseconds, or when the signal aborts. */
	pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clock of this process. */
export const systemClock: DashClock = {
	pause: async (ms, signal) => {
		await pause(ms, undefined, { signal }).catch(() => {});
	},
};

/** The updates that the page gets of a run. */
export type PageUpdate =
	| RunUpdate
	/** The program does not answer; it may answer again later. */
	| { readonly kind: "silent"; readonly message: string }
	/** The last update: the run is over, or cannot be followed. */
	| {
			readonly kind: "gone";
			readonly how: "closed" | "killed" | "refused";
			readonly message: string;
	  };

/** How long after a silence the program is tried again, in milliseconds. */
const AGAIN_MS: readonly number[] = [500, 1_000, 2_000, 5_000, 10_000];

/**
 * Follows a run to its end, even if its program is silent for a while.
 *
 * @param pause resolves after the given milliseconds, or when the signal aborts.
 */
export async function* followRun(
	client: Pick<ControlClient, "events" | "run">,
	signal: AbortSignal,
	pause: (ms: number, signal: AbortSignal) => Promise<void>,
): AsyncGenerator<PageUpdate, void> {
	const { program, pid, runId } = client.run;
	let silences = 0;
	while (!signal.aborted) {
		try {
			for await (const update of client.events(signal)) {
				silences = 0;
				yield update;
			}
			if (signal.aborted) return;
			const message = `${program} (pid ${pid}) closed its run ${runId}.`;
			yield { kind: "gone", how: "closed", message };
			return;
		} catch (error) {
			if (signal.aborted) return;
			if (!(error instanceof ControlError)) throw error;
			const { code, message } = error;
			if (code !== "HOST_SILENT") {
				const isGone = code === "HOST_GONE" || code === "NO_SUCH_RUN";
				yield isGone
					? {
							...{ kind: "gone", how: "killed" },
							message: `${program} (pid ${pid}) is gone. It did not close its run: it was killed, or it crashed.`,
						}
					: { kind: "gone", how: "refused", message };
				return;
			}
			yield { kind: "silent", message };
			await pause(
				AGAIN_MS[Math.min(silences, AGAIN_MS.length - 1)] ?? 0,
				signal,
			);
			silences++;
		}
	}
}

/** How many updates a slow page may be behind. Further ones are dropped, and the page gets their number. */
const PENDING = 2_000;

/** The updates that one page has not got yet. */
class PendingUpdates {
	readonly #pending: PageUpdate[] = [];
	#lost = 0;
	#state: "open" | "closed" = "open";
	#wake = (): void => {};

	add(update: PageUpdate): void {
		if (this.#pending.length < PENDING) this.#pending.push(update);
		else if (update.kind === "event") this.#lost++;
		else if (update.kind === "gone") this.#pending.push(update);
		this.#wake();
	}

	close(): void {
		this.#state = "closed";
		this.#wake();
	}

	/** Those that there are, and those that come, until it is closed or the signal aborts. */
	async *all(signal: AbortSignal): AsyncGenerator<PageUpdate, void> {
		const wake = (): void => this.#wake();
		signal.addEventListener("abort", wake);
		try {
			while (!signal.aborted) {
				const update = this.#next();
				if (update !== undefined) yield update;
				else if (this.#state === "closed") return;
				else
					await new Promise<void>((resolve) => {
						this.#wake = resolve;
					});
			}
		} finally {
			signal.removeEventListener("abort", wake);
		}
	}

	#next(): PageUpdate | undefined {
		const next = this.#pending.shift();
		if (next !== undefined || this.#lost === 0) return next;
		const records = this.#lost;
		this.#lost = 0;
		return { kind: "lost", records };
	}
}

/** One run that pages follow: the program serves one stream, however many pages there are. */
export class SharedRun {
	readonly #pages = new Set<PendingUpdates>();
	readonly #left = new AbortController();
	readonly #over: () => void;
	#state: PageUpdate | undefined;
	#phase: "followed" | "ended" = "followed";

	/** @param over is called when no page follows it any more, or it has ended. */
	constructor(client: ControlClient, clock: DashClock, over: () => void) {
		this.#over = over;
		void this.#follow(client, clock);
	}

	/** The current state, and what happens from now on. */
	async *updates(signal: AbortSignal): AsyncGenerator<PageUpdate, void> {
		if (this.#phase === "ended") return;
		const page = new PendingUpdates();
		if (this.#state !== undefined) page.add(this.#state);
		this.#pages.add(page);
		try {
			yield* page.all(signal);
		} finally {
			this.#pages.delete(page);
			if (this.#pages.size === 0) {
				this.#over();
				this.#left.abort();
			}
		}
	}

	async #follow(client: ControlClient, clock: DashClock): Promise<void> {
		try {
			const { signal } = this.#left;
			for await (const update of followRun(client, signal, clock.pause)) {
				for (const page of this.#pages) page.add(update);
				this.#state = firstOf(update, this.#state);
			}
		} catch (error) {
			const { message } = error as Error;
			for (const page of this.#pages)
				page.add({ kind: "gone", how: "refused", message });
		}
		this.#phase = "ended";
		this.#over();
		client[Symbol.dispose]();
		for (const page of this.#pages) page.close();
	}
}

/** What a page that comes later gets first: the latest state, without the calls that have been counted before. */
function firstOf(
	update: PageUpdate,
	before: PageUpdate | undefined,
): PageUpdate | undefined {
	switch (update.kind) {
		case "state":
			return {
				...update,
				state: { ...update.state, tickMs: 0, throughput: [], callsLeftOut: 0 },
			};
		case "silent":
			return update;
		default:
			return before;
	}
}

/** The runs that pages follow now. */
export class SharedEvents {
	readonly #runs: Pick<RunSource, "attach">;
	readonly #clock: DashClock;
	readonly #followed = new Map<string, Promise<SharedRun>>();

	constructor(runs: Pick<RunSource, "attach">, clock: DashClock) {
		this.#runs = runs;
		this.#clock = clock;
	}

	/** @throws ControlError `NO_SUCH_RUN`. */
	of(runId: string): Promise<SharedRun> {
		const known = this.#followed.get(runId);
		if (known !== undefined) return known;
		const over = (): void => {
			if (this.#followed.get(runId) === opened) this.#followed.delete(runId);
		};
		const opened = this.#runs
			.attach(runId)
			.then((client) => new SharedRun(client, this.#clock, over));
		this.#followed.set(runId, opened);
		opened.catch(over);
		return opened;
	}
}
