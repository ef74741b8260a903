import type { Clock } from "../contract/clock.ts";
import type { Connection } from "../contract/connection.ts";
import { OptionsError, StartError } from "../contract/errors.ts";
import type {
	LaunchDescriptor,
	LaunchSpec,
	LaunchStacks,
	WorkerSlot,
} from "../contract/launch.ts";
import { withDeadline } from "../deadline.ts";
import {
	aFunction,
	type Check,
	checkOptions,
	environment,
	inheritedVariables,
	nonEmptyText,
	oneOf,
	optional,
	strings,
	wholeNumber,
} from "../options/check.ts";
import type { Worker } from "./worker.ts";

const LAUNCH_CHECKS: Readonly<Record<keyof LaunchSpec, Check>> = {
	executable: nonEmptyText,
	args: optional(strings),
	env: optional(environment),
	inheritEnv: optional(inheritedVariables),
	cwd: optional(nonEmptyText),
	traceContext: optional(oneOf("environment")),
	launchPayload: () => undefined,
	lifeline: optional(oneOf("auto", "off")),
	descriptors: optional((value) =>
		Array.isArray(value) ? undefined : "must be an array of descriptors",
	),
	refusalCodes: optional(strings),
	stdio: optional(oneOf("pool", "adapter")),
	stdin: optional(oneOf("empty", "terminal")),
	dumpSignal: optional(nonEmptyText),
	stacks: optional((value) =>
		typeof value === "object" && value !== null
			? undefined
			: "must be an object with signal, begin, end and line",
	),
};

const STACKS_CHECKS: Readonly<Record<keyof LaunchStacks, Check>> = {
	signal: nonEmptyText,
	forcedSignal: optional(nonEmptyText),
	begin: anExpression,
	end: anExpression,
	line: anExpression,
};

function anExpression(value: unknown): string | undefined {
	return value instanceof RegExp ? undefined : "must be a regular expression";
}

/** The control channel of a program with `launchPayload`. */
const CONTROL = 3;
/** The lifeline of a program is at 768 and above. */
const DESCRIPTOR_CHECKS: Readonly<Record<keyof LaunchDescriptor, Check>> = {
	fd: wholeNumber(3, 255),
	kind: oneOf("stream", "unix-listener", "tcp-listener"),
};

/**
 * What an adapter's `launch` returned, when it can be executed: adapters are
 * other people's code, and not all of it is compiled.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, naming what is wrong.
 */
export function checkedLaunch(
	adapterName: string,
	spec: unknown,
	asked: "launch" | "companion" = "launch",
): LaunchSpec {
	const at = `${asked}() of the adapter ${adapterName}`;
	checkOptions(at, spec, LAUNCH_CHECKS);
	const { descriptors = [], launchPayload, stacks } = spec as LaunchSpec;
	if (stacks !== undefined) checkOptions(`${at} stacks`, stacks, STACKS_CHECKS);
	const taken = new Set(launchPayload === undefined ? [] : [CONTROL]);
	for (const descriptor of descriptors) {
		checkOptions(`${at} descriptors`, descriptor, DESCRIPTOR_CHECKS);
		const { fd } = descriptor;
		if (taken.has(fd)) throw numberInUse(at, fd);
		taken.add(fd);
	}
	return spec as LaunchSpec;
}

function numberInUse(at: string, fd: number): OptionsError {
	const taken =
		fd === CONTROL ? "the control channel, or another one," : "another one";
	return new OptionsError({
		code: "INVALID_OPTION",
		message: `${at} descriptors: ${taken} already has the number ${fd}. Give each its own number, from 3 to 255 (from 4 with a launchPayload).`,
	});
}

/**
 * What an adapter's `connect` resolved to, when calls can be made of it: found
 * at the start instead of by the first call.
 *
 * @throws TypeError naming what it lacks.
 */
export function checkedConnection(connection: unknown): Connection {
	const candidate = (connection ?? {}) as Partial<Connection>;
	if (aFunction(candidate.execute) !== undefined)
		throw new TypeError(
			"connect() must resolve to a Connection, but its value has no execute().",
		);
	if (aFunction(candidate[Symbol.asyncDispose]) !== undefined)
		throw new TypeError(
			"connect() must resolve to a Connection, but its value has no [Symbol.asyncDispose]().",
		);
	return connection as Connection;
}

/**
 * Waits for what an adapter says about a start, for no longer than the start may
 * take, and not after the worker was stopped.
 *
 * @throws StartError `START_TIMEOUT`, `START_WITHDRAWN`; or what the adapter rejected with.
 */
export async function awaitLaunch(
	launch: Promise<LaunchSpec>,
	{
		startAbort,
		slot,
	}: Pick<Worker, "startAbort"> & {
		readonly slot: Pick<WorkerSlot, "workerId">;
	},
	timeoutMs: number,
	clock: Clock,
	asked: "launch" | "companion" = "launch",
): Promise<LaunchSpec> {
	const { signal } = startAbort;
	const deadline = { clock, ms: timeoutMs, counts: "running", signal } as const;
	return await withDeadline(launch, deadline, () => {
		const error = launchTimedOut(slot.workerId, timeoutMs, asked);
		startAbort.abort(error);
		throw error;
	});
}

function launchTimedOut(
	workerId: string,
	timeoutMs: number,
	asked: string,
): StartError {
	return new StartError({
		code: "START_TIMEOUT",
		message: `The adapter's ${asked}() for worker ${workerId} did not return within ${timeoutMs} ms. If it needs longer, raise start.timeoutMs.`,
	});
}
