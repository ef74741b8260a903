import type { PoolOptions } from "@snakepit/core";
import type { ProtectionName } from "./orders.ts";

/** The option of the pool that asks for these protections; nothing for none. */
export async function chosenProtections(
	names: readonly ProtectionName[],
): Promise<Partial<PoolOptions>> {
	if (names.length === 0) return {};
	// Not a literal: the compiler need not know the package.
	const offered: Record<ProtectionName, () => unknown> = await import(
		["@snakepit", "watchdog"].join("/")
	);
	return { protections: names.map((name) => offered[name]()) } as object;
}
