import type { PoolOptions } from "@snakepit/core";
import * as watchdogPackage from "@snakepit/watchdog";
import type { ProtectionName } from "./orders.ts";

const offered: Readonly<Record<string, unknown>> = { ...watchdogPackage };

/** Those of `names` that the package does not offer. */
export function notOffered(
	names: readonly ProtectionName[],
): readonly ProtectionName[] {
	return names.filter((name) => typeof offered[name] !== "function");
}

/** The option of the pool that asks for these protections; nothing for none. */
export function chosenProtections(
	names: readonly ProtectionName[],
): Partial<PoolOptions> {
	if (names.length === 0) return {};
	const protections = names.map((name) => (offered[name] as () => never)());
	return { protections };
}
