import type { Connection, LaunchSpec } from "../adapter.ts";
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
} from "../option-check.ts";

const LAUNCH_CHECKS: Readonly<Record<keyof LaunchSpec, Check>> = {
	executable: nonEmptyText,
	args: optional(strings),
	env: optional(environment),
	inheritEnv: optional(inheritedVariables),
	cwd: optional(nonEmptyText),
	launchPayload: () => undefined,
	lifeline: optional(oneOf("auto", "off")),
	refusalCodes: optional(strings),
	stdio: optional(oneOf("pool", "adapter")),
	dumpSignal: optional(nonEmptyText),
};

/**
 * What an adapter's `launch` returned, when it can be executed: adapters are
 * other people's code, and not all of it is compiled.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`, naming what is wrong.
 */
export function checkedLaunch(adapterName: string, spec: unknown): LaunchSpec {
	checkOptions(`launch() of the adapter ${adapterName}`, spec, LAUNCH_CHECKS);
	return spec as LaunchSpec;
}

/**
 * What an adapter's `connect` resolved to, when calls can be made of it: found
 * at the start instead of by the first call.
 *
 * @throws TypeError naming what it lacks.
 */
export function checkedConnection(connection: unknown): Connection {
	const given = (connection ?? {}) as Partial<Connection>;
	if (aFunction(given.execute) !== undefined)
		throw new TypeError(
			"connect() must resolve to a Connection, and what it resolved to has no execute().",
		);
	if (aFunction(given[Symbol.asyncDispose]) !== undefined)
		throw new TypeError(
			"connect() must resolve to a Connection, and what it resolved to has no [Symbol.asyncDispose]().",
		);
	return connection as Connection;
}
