import { PROGRAM_CHECKS, type ProgramOptions } from "@snakepit/core/adapter";
import { type Check, optional, wholeNumber } from "@snakepit/core/options";

/**
 * Limits of a program that communicates over standard input and output. Also takes the options of `ProgramOptions`.
 */
export interface StdioOptions extends ProgramOptions {
	/**
	 * The longest message in bytes. A longer one from the program breaks the connection.
	 * @default 67 108 864 bytes (64 MiB)
	 */
	readonly maxMessageBytes?: number | undefined;
}

export const STDIO_DEFAULTS = { maxMessageBytes: 67_108_864 } as const;

/** The largest possible limit: a string in Node has at most about 512 million characters. */
const MOST_BYTES = 512 * 1024 * 1024;

export const STDIO_CHECKS: Readonly<Record<keyof StdioOptions, Check>> = {
	...PROGRAM_CHECKS,
	maxMessageBytes: optional(wholeNumber(1_024, MOST_BYTES)),
};
