import { join } from "node:path";
import type { LaunchSpec } from "../adapter.ts";
import type { Launcher, LifelineListener, ProcessHost } from "../world.ts";

/** What ends a worker with this program, whatever ends this program. */
export interface WorkerLifeline {
	readonly listener: LifelineListener;
	/** Connects the worker; absent where the worker does so itself. */
	readonly launcher: Launcher | undefined;
}

/**
 * Listens for the lifeline of a worker.
 *
 * @param directory the worker's own.
 * @returns `undefined` for a worker that has none: it knows of no lifeline, and there is no launcher or must be none.
 */
export async function listenFor(
	{ launchPayload, lifeline = "auto" }: LaunchSpec,
	directory: string,
	host: ProcessHost,
): Promise<WorkerLifeline | undefined> {
	const path = join(directory, "l");
	if (launchPayload !== undefined)
		return { listener: await host.listenLifeline(path), launcher: undefined };
	const binary = lifeline === "auto" ? host.nativeBinary() : undefined;
	if (binary === undefined) return undefined;
	const listener = await host.listenLifeline(path);
	return { listener, launcher: { binary, lifeline: listener.path } };
}
