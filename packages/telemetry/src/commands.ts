import { type Check, checkOptions, optional } from "@snakepit/core/options";

/** What is exported of the calls of one command. */
export interface CommandTelemetry {
	/**
	 * Of the calls outside of a trace, the share that begins one, from 0 to 1; within a trace, a call is exported if its
	 * caller's span is sampled. It is decided before anything is made for the call, so a call that is not sampled costs
	 * next to nothing. The SDK's sampler then decides on the others. Left out, it decides on every call.
	 */
	readonly traces?: number | undefined;
	/** Whether the durations of its calls are measured. @default true */
	readonly metrics?: boolean | undefined;
}

/** What is exported of a command, when what was left out is filled in. */
export interface ResolvedCommand {
	/** `undefined`: the SDK's sampler decides on every call. */
	readonly traces: number | undefined;
	readonly metrics: boolean;
}

/** The name that stands for every command without an entry of its own. */
const OTHERS = "*";

const CHECKS: Readonly<Record<keyof CommandTelemetry, Check>> = {
	traces: optional((value) =>
		typeof value === "number" && value >= 0 && value <= 1
			? undefined
			: "must be a number from 0 to 1",
	),
	metrics: optional((value) =>
		typeof value === "boolean" ? undefined : "must be true or false",
	),
};

/** The settings of all commands. */
export class Commands {
	readonly #own: ReadonlyMap<string, ResolvedCommand>;
	readonly #others: ResolvedCommand;

	/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
	constructor(given: Readonly<Record<string, CommandTelemetry>>) {
		for (const [name, each] of Object.entries(given))
			checkOptions(`telemetry commands "${name}"`, each, CHECKS);
		const { traces, metrics = true } = given[OTHERS] ?? {};
		this.#others = { traces, metrics };
		this.#own = new Map(
			Object.entries(given).map(([name, own]) => [
				name,
				{ traces: own.traces ?? traces, metrics: own.metrics ?? metrics },
			]),
		);
	}

	of(command: string): ResolvedCommand {
		return this.#own.get(command) ?? this.#others;
	}
}
