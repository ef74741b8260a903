import type { SnakepitEvent } from "@snakepit/core";
import type { Progress } from "./progress-bar.ts";

/** What a person sees while the demo runs. */
export interface Display {
	/** Hears every event of the pool. */
	hear(event: SnakepitEvent): void;
	/** Says one line, which stays. */
	say(line: string): void;
	progress(progress: Progress): void;
	/** Leaves the terminal as it was. Idempotent; lines can still be said. */
	close(): void;
}
