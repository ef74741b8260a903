import {
	type Check,
	milliseconds,
	oneOf,
	wholeNumber,
} from "./option-check.ts";
import type {
	CallsOptions,
	HeartbeatOptions,
	OutputOptions,
	QueueOptions,
	RecycleOptions,
	SessionsOptions,
	SizeOptions,
	StartOptions,
	StopOptions,
} from "./options.ts";

/** One option: what it is when left out, what it may be, and why. `undefined` is not known before the machine is. */
export interface Default<
	Value extends number | string | undefined = number | string | undefined,
> {
	readonly value: Value;
	readonly check: Check;
	readonly reason: string;
}

/** A row for each option of a group that has a default: the compiler asks for it where an option is added. */
type Rows<Group extends string, Options> = {
	readonly [Name in keyof Options & string as `${Group}.${Name}`]-?: Default<
		Exclude<Options[Name], undefined> & (number | string)
	>;
};

/** The groups of a pool's options, but for what `size.max` is by itself. */
type PoolRows = Rows<"size", Omit<SizeOptions, "max">> &
	Rows<"start", StartOptions> &
	Rows<"queue", QueueOptions> &
	Rows<"calls", CallsOptions> &
	Rows<"heartbeat", HeartbeatOptions> &
	Rows<"recycle", RecycleOptions> &
	Rows<"sessions", SessionsOptions> &
	Rows<"stop", StopOptions> &
	Rows<"output", OutputOptions>;

/**
 * Every number and word, with the reason for it. `Infinity` means: no bound.
 * docs/reference/options.md is made from it, and compared with what each option's comment says after `@default`.
 */
export const DEFAULTS: PoolRows & {
	readonly "size.max": Default<undefined>;
	readonly callsPerWorker: Default<number>;
	readonly guard: Default<"auto" | "required" | "off">;
	readonly onSignal: Default<"end" | "ignore">;
	readonly signalGraceMs: Default<number>;
	readonly "audit.intervalMs": Default<number>;
	readonly "audit.strays": Default<"reported" | "killed">;
	readonly "jobs.concurrency": Default<undefined>;
	readonly "jobs.queueLimit": Default<number>;
	readonly "history.runs": Default<number>;
	readonly "history.ageMs": Default<number>;
	readonly "history.content": Default<"recorded" | "left_out">;
	readonly echo: Default<"stderr" | "none">;
} = {
	"size.min": {
		value: 1,
		check: wholeNumber(0, 10_000),
		reason:
			"a worker is expensive: one is kept ready, and more are started on demand",
	},
	"size.max": {
		value: undefined,
		check: wholeNumber(1, 10_000),
		reason: "more computing workers than processors only slow each other down",
	},
	"size.idleMs": {
		value: 60_000,
		check: milliseconds(0),
		reason: "a short pause between requests does not cost another start",
	},
	callsPerWorker: {
		value: 1,
		check: wholeNumber(1, 10_000),
		reason:
			"most tools hold the interpreter's lock and are not written for concurrent calls",
	},
	"start.timeoutMs": {
		value: 60_000,
		check: milliseconds(1),
		reason:
			"importing a large framework from a cold disk takes tens of seconds",
	},
	"start.backoffMs": {
		value: 200,
		check: milliseconds(0),
		reason:
			"a start costs about as much, so failing starts use at most half of one processor",
	},
	"start.maxRestarts": {
		value: 20,
		check: wholeNumber(0, 1_000_000),
		reason:
			"rare crashes heal indefinitely, and a crash loop is detected within a minute",
	},
	"queue.limit": {
		value: 1_000,
		check: wholeNumber(0),
		reason: "it slows a server's clients down before memory runs out",
	},
	"queue.timeoutMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(0),
		reason: "the call's own deadline already includes the wait",
	},
	"calls.timeoutMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "only the caller knows how long its work may take",
	},
	"calls.cancelGraceMs": {
		value: 2_000,
		check: milliseconds(1),
		reason:
			"much longer than a tool that responds to a cancel needs, and a stuck worker is replaced soon",
	},
	"heartbeat.intervalMs": {
		value: 2_000,
		check: milliseconds(10),
		reason: "five pings before `hungAfterMs` has passed",
	},
	"heartbeat.hungAfterMs": {
		value: 10_000,
		check: milliseconds(10),
		reason:
			"only code that holds the interpreter's lock for this long keeps a worker from answering, and a worker that is idle for this long is stuck",
	},
	"heartbeat.busyLimitMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "off: only the program knows how long its work may take",
	},
	"recycle.afterMs": {
		value: Number.POSITIVE_INFINITY,
		check: milliseconds(1),
		reason: "off: only leaking tools need it",
	},
	"recycle.afterCalls": {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	"recycle.aboveResidentBytes": {
		value: Number.POSITIVE_INFINITY,
		check: wholeNumber(1),
		reason: "off: only leaking tools need it",
	},
	"sessions.ttlMs": {
		value: 3_600_000,
		check: milliseconds(1),
		reason: "one hour: longer than a person's break",
	},
	"sessions.limit": {
		value: 10_000,
		check: wholeNumber(1),
		reason: "more than that have probably been forgotten",
	},
	"stop.drainMs": {
		value: 30_000,
		check: milliseconds(0),
		reason:
			"applies to `close()`; when a signal ends the program, a pool has 2 s",
	},
	"stop.killAfterMs": {
		value: 5_000,
		check: milliseconds(0),
		reason: "time to run shut-down hooks",
	},
	guard: {
		value: "auto",
		check: oneOf("auto", "required", "off"),
		reason:
			"it starts in a few milliseconds, and nothing else kills a daemon that left its group and cleared its environment; without it, a program still starts",
	},
	onSignal: {
		value: "end",
		check: oneOf("end", "ignore"),
		reason:
			"a library may have installed the listener, which does not mean that the program wants to keep running",
	},
	signalGraceMs: {
		value: 35_000,
		check: milliseconds(0),
		reason:
			"longer than the 30 s of Kubernetes and of most servers that drain, shorter than the 90 s of systemd",
	},
	"output.echo": {
		value: "stderr",
		check: oneOf("stderr", "none"),
		reason:
			"shows what a tool prints and logs, and why it crashed, without any setup",
	},
	"audit.intervalMs": {
		value: 30_000,
		check: milliseconds(100),
		reason:
			"rare enough that reading the process table costs nothing, often enough to keep the ledger accurate",
	},
	"audit.strays": {
		value: "reported",
		check: oneOf("reported", "killed"),
		reason: "a tool may have left a process on purpose",
	},
	"jobs.concurrency": {
		value: undefined,
		check: wholeNumber(1, 10_000),
		reason: "more computing programs than processors only slow each other down",
	},
	"jobs.queueLimit": {
		value: 1_000,
		check: wholeNumber(0),
		reason: "it slows a server's clients down before memory runs out",
	},
	"history.runs": {
		value: 200,
		check: wholeNumber(0, 100_000),
		reason: "a few megabytes",
	},
	"history.ageMs": {
		value: 30 * 24 * 60 * 60 * 1000,
		check: wholeNumber(0),
		reason: "a month shows a pattern",
	},
	"history.content": {
		value: "recorded",
		check: oneOf("recorded", "left_out"),
		reason:
			"it explains a crash during the night, in a file that only this user can read",
	},
	echo: {
		value: "stderr",
		check: oneOf("stderr", "none"),
		reason: "killing something should not go unnoticed",
	},
};
