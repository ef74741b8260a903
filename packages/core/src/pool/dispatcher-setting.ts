import type { SnakepitError } from "../errors.ts";
import type { SnakepitEvent } from "../events.ts";
import type { ResolvedOptions } from "../options.ts";
import type { Clock } from "../world.ts";
import type { Call } from "./call.ts";

/** What a dispatcher works with, and who hears of what it does. */
export interface DispatcherSetting {
	readonly pool: string;
	readonly options: ResolvedOptions;
	readonly clock: Clock;
	/** How many calls that waited are sent in one turn of the event loop. */
	readonly atOnce: number;
	readonly emit: (event: SnakepitEvent) => void;
	/** Calls wait and no worker has room. */
	readonly onDemand: () => void;
	/** A call is over for its caller. */
	readonly onSettled: (call: Call, error: SnakepitError | undefined) => void;
	/** A call begins on a worker. */
	readonly onDispatched: (waitedMs: number) => void;
	/** An attempt is over on its worker. */
	readonly onReleased: (ranMs: number) => void;
}
