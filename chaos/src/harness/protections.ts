import { notOffered } from "../../programs/choose-protections.ts";
import type { ProtectionName } from "../../programs/orders.ts";

/** Why a host cannot have these protections here; `undefined` when it can. */
export function protectionsUnavailable(
	protections: readonly ProtectionName[],
): string | undefined {
	const missing = notOffered(protections);
	return missing.length === 0
		? undefined
		: `@snakepit/watchdog has no ${missing.join(" and no ")}`;
}
