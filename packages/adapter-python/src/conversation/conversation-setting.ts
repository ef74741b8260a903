import type { BegunMarks } from "../shared-memory/begun-marks.ts";
import type { CallPage } from "../shared-memory/call-page.ts";
import type { SharedMemory } from "../shared-memory/shared-memory.ts";
import type { StreamCredit } from "./credit-window.ts";
import type { HostFunction } from "./host-functions.ts";

/** The settings of a conversation. */
export interface ConversationSetting {
	/** How many calls the worker takes at once. */
	readonly callsAtOnce: number;
	readonly maxMessageBytes: number;
	readonly streamCredit: StreamCredit;
	readonly hostFunctions: ReadonlyMap<string, HostFunction>;
	/** Source files that the worker has loaded, after a moment in milliseconds since the Unix epoch. */
	readonly sources?:
		| ((files: readonly string[], sinceMs: number) => void)
		| undefined;
	/** How large values are handed over; `undefined` if they are sent as messages. */
	readonly sharedMemory: SharedMemory | undefined;
	/** Where the worker notes which call it began last; `undefined` if no call is prefetched. */
	readonly callPage: CallPage | undefined;
	/** Where a worker of several calls notes which of them it began; `undefined` without shared memory. */
	readonly begunMarks: BegunMarks | undefined;
}
