import type { Adapter } from "../adapter.ts";
import type { ResolvedOptions } from "../options.ts";
import type { World } from "../world.ts";

/** What a preloaded parent is made of: the same as its workers. */
export interface PreloadSetting {
	readonly adapter: Adapter;
	readonly options: ResolvedOptions;
	/** Its source starts the parent, and workers where there is none. */
	readonly world: World;
	/** Private; the parent gets a directory in it. */
	readonly runDirectory: string;
	/** The value of the marker variable. */
	readonly marker: string;
	/** The environment that the parent inherits, before the adapter's own. */
	readonly environment: Readonly<Record<string, string | undefined>>;
}
