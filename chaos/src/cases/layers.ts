import type { ProtectionName } from "../../programs/orders.ts";
import type { ChaosCase } from "../harness/chaos-case.ts";
import { protectionsUnavailable } from "../harness/protections.ts";

type Protections = readonly ProtectionName[];

/** No protection more than the lifeline and the next start. */
export const ALONE: Protections = [];
export const WATCHDOG: Protections = ["watchdog"];
export const GUARD: Protections = ["guard"];
export const BOTH: Protections = ["watchdog", "guard"];
/** Every choice of protections. */
export const LAYERS: readonly Protections[] = [ALONE, WATCHDOG, GUARD, BOTH];

/** What most cases share. */
type Sketch = Omit<ChaosCase, "protections" | "promise" | "unavailable"> &
	Partial<ChaosCase>;

/** A case whose promise is kept with these protections. */
export function withLayers(
	protections: Protections,
	sketch: Sketch,
): ChaosCase {
	return {
		promise: "kept",
		unavailable: () => protectionsUnavailable(protections),
		...sketch,
		protections,
	};
}
