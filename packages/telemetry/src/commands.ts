import { type Check, checkOptions, optional } from "@snakepit/core/options";
import { RateSampler } from "./trace/rate-sampler.ts";

/** What is exported of the calls of one command. */
export interface CommandTelemetry {
	/**
	 * Of the calls outside of a trace, the share that begins one, from 0 to 1, or how many of each command do in a second;
	 * within a trace, a call is exported if its caller's span is sampled. The decision comes before any work for the call,
	 * so a call that is not sampled costs almost nothing. The SDK's sampler then decides on the others. If left out, the
	 * SDK's sampler decides on every call.
	 */
	readonly traces?: number | TracesPerSecond | undefined;
	/** Whether the durations of its calls are measured. @default true */
	readonly metrics?: boolean | undefined;
}

/** A limit for traces: if there are more calls, each has the same chance. */
export interface TracesPerSecond {
	/** The limit, a whole number. */
	readonly perSecond: number;
}

/** The export settings of a command, with all defaults filled in. */
export interface ResolvedCommand {
	/** Whether a call outside of a trace may begin one; `undefined`: the SDK's sampler decides on every call. */
	readonly sample: (() => boolean) | undefined;
	readonly metrics: boolean;
}

/** How many commands without an entry have a limit of their own; the others share one. */
const OWN_LIMITS = 100;

/** The name that stands for every command without an entry of its own. */
const OTHERS = "*";

const CHECKS: Readonly<Record<keyof CommandTelemetry, Check>> = {
	traces: optional((value) =>
		isShare(value) || isRate(value)
			? undefined
			: "must be a number from 0 to 1, or { perSecond: a whole number from 1 }",
	),
	metrics: optional((value) =>
		typeof value === "boolean" ? undefined : "must be true or false",
	),
};

function isShare(value: unknown): value is number {
	return typeof value === "number" && value >= 0 && value <= 1;
}

function isRate(value: unknown): value is TracesPerSecond {
	if (typeof value !== "object" || value === null) return false;
	const { perSecond, ...others } = value as Partial<TracesPerSecond>;
	return (
		Number.isSafeInteger(perSecond) &&
		Number(perSecond) > 0 &&
		Object.keys(others).length === 0
	);
}

/** The settings of all commands. */
export class Commands {
	/** Of those that have an entry, or a limit of their own. */
	readonly #own: Map<string, ResolvedCommand>;
	readonly #others: CommandTelemetry;
	/** Of the others. */
	readonly #rest: ResolvedCommand;
	readonly #most: number;
	readonly #random: () => number;

	/**
	 * @param random from 0 up to, but not including, 1.
	 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
	 */
	constructor(
		given: Readonly<Record<string, CommandTelemetry>>,
		random: () => number = Math.random,
	) {
		this.#random = random;
		for (const [name, each] of Object.entries(given))
			checkOptions(`telemetry commands "${name}"`, each, CHECKS);
		this.#others = given[OTHERS] ?? {};
		this.#rest = this.#resolved(this.#others);
		const { traces, metrics } = this.#others;
		this.#own = new Map(
			Object.entries(given).map(([name, own]) => [
				name,
				this.#resolved({
					traces: own.traces ?? traces,
					metrics: own.metrics ?? metrics,
				}),
			]),
		);
		this.#most = this.#own.size + (typeof traces === "object" ? OWN_LIMITS : 0);
	}

	of(command: string): ResolvedCommand {
		const known = this.#own.get(command);
		if (known !== undefined) return known;
		if (this.#own.size >= this.#most) return this.#rest;
		const made = this.#resolved(this.#others);
		this.#own.set(command, made);
		return made;
	}

	#resolved({ traces, metrics = true }: CommandTelemetry): ResolvedCommand {
		return { sample: samplerOf(traces, this.#random), metrics };
	}
}

function samplerOf(
	traces: CommandTelemetry["traces"],
	random: () => number,
): ResolvedCommand["sample"] {
	if (traces === undefined) return undefined;
	if (traces === 0) return () => false;
	if (typeof traces === "number") return () => random() < traces;
	const now = () => performance.now();
	const sampler = new RateSampler(traces.perSecond, random, now);
	return () => sampler.sample();
}
