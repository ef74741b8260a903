import { existsSync } from "node:fs";
import type { ProtectionName } from "../../programs/orders.ts";

const WATCHDOG = new URL(
	"../../../packages/watchdog/package.json",
	import.meta.url,
);

/** Why a host cannot have these protections here; `undefined` when it can. */
export function protectionsUnavailable(
	protections: readonly ProtectionName[],
): string | undefined {
	return protections.length === 0 || existsSync(WATCHDOG)
		? undefined
		: "@snakepit/watchdog is not there";
}
