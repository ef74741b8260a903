import type { MeterProvider, Span, TracerProvider } from "@opentelemetry/api";
import type { AcceptedCall } from "@snakepit/core/instrument";
import {
	aFunction,
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import type { Group } from "./catalogue/attributes.ts";
import type { LoggerProviderLike } from "./logs.ts";

/** Whether a group is exported. */
export type Switches = (group: Group) => boolean;

export function switchesOf(options: ResolvedTelemetryOptions): Switches {
	const on: Readonly<Record<Group, boolean>> = {
		calls: true,
		process: options.processEvents,
		heartbeat: options.heartbeatEvents,
		watchdog: options.watchdogEvents,
		telemetry: true,
	};
	return (group) => options.enabled && on[group];
}

/** What is exported, and through which providers. */
export interface TelemetryOptions {
	/** `false` exports nothing at all. @default true */
	readonly enabled?: boolean | undefined;
	/** Traces, metrics and events of pings and of workers that hang. @default true */
	readonly heartbeatEvents?: boolean | undefined;
	/** Traces, metrics and events of pools and workers: starts, ends, clean-up, the ledger. @default true */
	readonly processEvents?: boolean | undefined;
	/** Traces, metrics and events of protections: their actions when a host dies. @default true */
	readonly watchdogEvents?: boolean | undefined;
	/** Exports what workers print and log, as log records. @default false */
	readonly workerLogs?: boolean | undefined;
	/**
	 * What is exported of calls, by command; `"*"` sets the default for other commands and for fields that an entry leaves
	 * out.
	 */
	readonly commands?: Readonly<Record<string, CommandTelemetry>> | undefined;
	/** Which spans a call has besides its own. */
	readonly spans?: CallSpans | undefined;
	/**
	 * How the span of a call relates to that of its caller. `"child"`: it is a part of the caller's trace. `"link"`: it
	 * begins a trace of its own with a link to the caller, for callers that make thousands of calls: their trace would be
	 * too large for a backend. @default "child"
	 */
	readonly relation?: "child" | "link" | undefined;
	/**
	 * Called with the span of each call that is recorded, when the call is accepted, in the context of that span: to add
	 * attributes of your own. If it throws, no call fails, and `snakepit.telemetry.dropped` counts it.
	 */
	readonly onCallSpan?: ((span: Span, call: CallOfSpan) => void) | undefined;
	/**
	 * Replaces texts that may contain data of the program, before they are exported in spans and log records: messages and
	 * tracebacks of errors, what `observe.args` shows of arguments, last lines of output, log lines of workers. Names are exported as they are. If it throws,
	 * `(redact threw)` stands for the text.
	 */
	readonly redact?: ((text: string) => string) | undefined;
	/** Gets spans; the registered provider by default. */
	readonly tracerProvider?: TracerProvider | undefined;
	/** Gets metrics; the registered provider by default. */
	readonly meterProvider?: MeterProvider | undefined;
	/**
	 * Gets log records; by default the provider that is registered with `@opentelemetry/api` 1.10 or newer, else with
	 * `@opentelemetry/api-logs`.
	 */
	readonly loggerProvider?: LoggerProviderLike | undefined;
}

/** Spans that a call may have besides its own. */
export interface CallSpans {
	/** One for each wait for a worker. @default true */
	readonly queue?: boolean | undefined;
	/**
	 * One for each attempt. Without it, the span of the call is the client of the worker's span, and has the attributes
	 * and the error of the last attempt. @default true
	 */
	readonly attempt?: boolean | undefined;
}

/** A call, as `onCallSpan` gets it. */
export type CallOfSpan = Pick<
	AcceptedCall,
	"pool" | "command" | "callId" | "shape" | "sessionId" | "args"
>;

/** Options of which those with a default have a value. */
type Filled<Options, Name extends keyof Options> = Omit<Options, Name> & {
	readonly [Key in Name]-?: NonNullable<Options[Key]>;
};

export interface ResolvedTelemetryOptions
	extends Omit<
		Filled<TelemetryOptions, keyof typeof TELEMETRY_DEFAULTS>,
		"commands" | "spans"
	> {
	readonly commands: Commands;
	readonly spans: Filled<CallSpans, keyof CallSpans>;
}

const aSwitch: Check = (value) =>
	typeof value === "boolean" ? undefined : "must be true or false";
const has =
	(method: string): Check =>
	(value) =>
		typeof (value as Record<string, unknown> | null)?.[method] === "function"
			? undefined
			: `must be a provider of OpenTelemetry, with ${method}()`;

/** The defaults, and why. */
export const TELEMETRY_DEFAULTS = {
	enabled: { value: true, reason: "you add telemetry in order to export" },
	heartbeatEvents: { value: true, reason: "see `enabled`" },
	processEvents: { value: true, reason: "see `enabled`" },
	watchdogEvents: { value: true, reason: "see `enabled`" },
	workerLogs: {
		value: false,
		reason: "it is the text of the tools, and Python may export it itself",
	},
	relation: {
		value: "child",
		reason: "one trace shows the request with all that was done for it",
	},
} as const;

/** Of the spans of a call. */
export const CALL_SPANS_DEFAULTS = {
	queue: {
		value: true,
		reason: "a trace shows at once whether a slow call waited or ran",
	},
	attempt: {
		value: true,
		reason:
			"of a call that was made again, it shows every attempt and its worker",
	},
} as const;

export const CALL_SPANS_CHECKS: Readonly<Record<keyof CallSpans, Check>> = {
	queue: optional(aSwitch),
	attempt: optional(aSwitch),
};

export const TELEMETRY_CHECKS: Readonly<Record<keyof TelemetryOptions, Check>> =
	{
		enabled: optional(aSwitch),
		heartbeatEvents: optional(aSwitch),
		processEvents: optional(aSwitch),
		watchdogEvents: optional(aSwitch),
		workerLogs: optional(aSwitch),
		commands: optional((value) =>
			typeof value === "object" && value !== null && !Array.isArray(value)
				? undefined
				: 'must be an object with an entry by command, or for "*"',
		),
		spans: () => undefined, // Checked as a group.
		relation: optional(oneOf("child", "link")),
		onCallSpan: optional(aFunction),
		redact: optional(aFunction),
		tracerProvider: optional(has("getTracer")),
		meterProvider: optional(has("getMeter")),
		loggerProvider: optional(has("getLogger")),
	};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function resolveOptions(
	options: TelemetryOptions,
): ResolvedTelemetryOptions {
	checkOptions("telemetry", options, TELEMETRY_CHECKS);
	const { spans = {} } = options;
	checkOptions("telemetry spans", spans, CALL_SPANS_CHECKS);
	return {
		...options,
		...valuesOf(options, TELEMETRY_DEFAULTS),
		commands: new Commands(options.commands ?? {}),
		spans: valuesOf(spans, CALL_SPANS_DEFAULTS),
	};
}

/** Of what is left out, or `undefined`, the default. */
function valuesOf<Options, Name extends keyof Options & string>(
	options: Options,
	defaults: {
		readonly [Key in Name]: { readonly value: NonNullable<Options[Key]> };
	},
): { readonly [Key in Name]: NonNullable<Options[Key]> } {
	const names = Object.keys(defaults) as Name[];
	return Object.fromEntries(
		names.map((name) => [name, options[name] ?? defaults[name].value]),
	) as never;
}

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
interface ResolvedCommand {
	/** Whether a call outside of a trace may begin one; `undefined`: the SDK's sampler decides on every call. */
	readonly sample: (() => boolean) | undefined;
	readonly metrics: boolean;
}

/** How many commands without an entry have a limit of their own; the others share one. */
const OWN_LIMITS = 100;

/** The name that stands for every command without an entry of its own. */
const OTHERS = "*";

/** Of the settings of a command. */
export const COMMAND_TELEMETRY_DEFAULTS = {
	metrics: {
		value: true,
		reason: "to measure costs little, and alerts need it",
	},
} as const;

export const COMMAND_TELEMETRY_CHECKS: Readonly<
	Record<keyof CommandTelemetry, Check>
> = {
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
		commands: Readonly<Record<string, CommandTelemetry>>,
		random: () => number = Math.random,
	) {
		this.#random = random;
		for (const [name, each] of Object.entries(commands))
			checkOptions(
				`telemetry commands "${name}"`,
				each,
				COMMAND_TELEMETRY_CHECKS,
			);
		this.#others = commands[OTHERS] ?? {};
		this.#rest = this.#resolved(this.#others);
		const { traces, metrics } = this.#others;
		this.#own = new Map(
			Object.entries(commands).map(([name, own]) => [
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
		const resolved = this.#resolved(this.#others);
		this.#own.set(command, resolved);
		return resolved;
	}

	#resolved({
		traces,
		metrics = COMMAND_TELEMETRY_DEFAULTS.metrics.value,
	}: CommandTelemetry): ResolvedCommand {
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

const WINDOW_MS = 1_000;
/** If there are many calls, the clock is read only for every n-th one: reading it takes longer than the rest. */
const LOOK_EVERY = 16;

/**
 * Samples at most a given number of calls per second. The number in the previous second gives each call its chance. If
 * the first ones of each second were taken instead, calls that had to wait would be missing.
 */
export class RateSampler {
	readonly #perSecond: number;
	readonly #random: () => number;
	readonly #now: () => number;
	#windowEndMs = Number.NEGATIVE_INFINITY;
	/** In this window. */
	#calls = 0;
	#taken = 0;
	/** The chance of a call. */
	#share = 1;

	/**
	 * @param random from 0 up to, but not including, 1.
	 * @param now in milliseconds.
	 */
	constructor(perSecond: number, random: () => number, now: () => number) {
		this.#perSecond = perSecond;
		this.#random = random;
		this.#now = now;
	}

	/** Whether to take this call. */
	sample(): boolean {
		const isSpent = this.#taken >= this.#perSecond;
		if ((this.#share === 1 && !isSpent) || this.#calls % LOOK_EVERY === 0) {
			const nowMs = this.#now();
			if (nowMs >= this.#windowEndMs) this.#begin(nowMs);
		}
		this.#calls++;
		if (this.#taken >= this.#perSecond) return false;
		if (this.#share < 1 && this.#random() >= this.#share) return false;
		this.#taken++;
		return true;
	}

	#begin(nowMs: number): void {
		const sinceMs = nowMs - this.#windowEndMs + WINDOW_MS;
		const perSecond = (this.#calls * 1_000) / sinceMs;
		this.#share = Math.min(1, this.#perSecond / perSecond);
		this.#windowEndMs = nowMs + WINDOW_MS;
		this.#calls = 0;
		this.#taken = 0;
	}
}
