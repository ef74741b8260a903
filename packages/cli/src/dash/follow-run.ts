import {
	type ControlClient,
	ControlError,
	type RunUpdate,
} from "@snakepit/control";

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
