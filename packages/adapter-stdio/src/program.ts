import type { LaunchSpec, WorkerSlot } from "@snakepit/core/adapter";

/** The program of an adapter's workers. */
export interface ProgramOptions {
	/** The program and its arguments; a function of the slot where workers differ. No shell reads it. */
	readonly command:
		| readonly string[]
		| ((slot: WorkerSlot) => readonly string[]);
	/** Appears in names of pools and workers. Lower case; 1 to 40 letters, digits, dots, dashes or underscores. */
	readonly name?: string | undefined;
	/** The working directory; by default the one of this program. */
	readonly cwd?: string | undefined;
	/** Added to what is inherited; `undefined` removes a variable. */
	readonly env?: Readonly<Record<string, string | undefined>> | undefined;
	/**
	 * What the program inherits of this program's environment: `"minimal"`, no secrets: `PATH`, `HOME`, the locale and the
	 * like; these names too; or `"all"`.
	 * @default "minimal"
	 */
	readonly inheritEnv?: "all" | "minimal" | readonly string[] | undefined;
	/** The longest message in bytes. A longer one from the program breaks the conversation. @default 67 108 864 bytes (64 MiB) */
	readonly maxMessageBytes?: number | undefined;
}

export const PROGRAM_DEFAULTS = {
	inheritEnv: "minimal",
	maxMessageBytes: 67_108_864,
} as const;

/** How the program of a slot is started: its standard input and output are the conversation. */
export function launchOf(
	{ command, cwd, env, inheritEnv }: ProgramOptions,
	slot: WorkerSlot,
): LaunchSpec {
	const [executable = "", ...args] =
		typeof command === "function" ? command(slot) : command;
	return {
		...{ executable, args, cwd, env },
		inheritEnv: inheritEnv ?? PROGRAM_DEFAULTS.inheritEnv,
		stdio: "adapter",
	};
}
