import type { RecycleReason } from "../pool-events.ts";

/** How worn a worker is. */
export interface Wear {
	readonly ageMs: number;
	readonly calls: number;
	/** Of its whole process group, in bytes; `undefined` when it was not measured. */
	readonly residentBytes: number | undefined;
}

export interface WearLimits {
	readonly afterMs: number;
	readonly afterCalls: number;
	readonly aboveResidentBytes: number;
}

/** Why a worker should be replaced, or `undefined` when it should not. */
export function judgeWear(
	wear: Wear,
	limits: WearLimits,
): RecycleReason | undefined {
	if (wear.calls >= limits.afterCalls) return "calls";
	if (wear.ageMs >= limits.afterMs) return "age";
	if (
		wear.residentBytes !== undefined &&
		wear.residentBytes > limits.aboveResidentBytes
	)
		return "resident_memory";
	return undefined;
}
