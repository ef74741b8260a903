import { join } from "node:path";
import type { LaunchSpec } from "../contract/launch.ts";
import type {
	Launcher,
	LifelineListener,
	ProcessHost,
} from "../contract/world.ts";

/** What ends a process with this program, whatever ends this program. */
export interface Lifeline {
	readonly listener: LifelineListener;
	/** Connects the process; absent where it does so itself. */
	readonly launcher: Launcher | undefined;
}

/**
 * Listens for the lifeline of a process.
 *
 * @param directory its own.
 * @returns `undefined` for a process that has none: it knows of no lifeline, and there is no launcher or must be none.
 */
export async function listenFor(
	{ launchPayload, lifeline = "auto" }: LaunchSpec,
	directory: string,
	host: ProcessHost,
): Promise<Lifeline | undefined> {
	const path = join(directory, "l");
	if (launchPayload !== undefined)
		return { listener: await host.listenLifeline(path), launcher: undefined };
	const binary = lifeline === "auto" ? host.nativeBinary() : undefined;
	if (binary === undefined) return undefined;
	const listener = await host.listenLifeline(path);
	return { listener, launcher: { binary, lifeline: listener.path } };
}
