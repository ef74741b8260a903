import { readFileSync } from "node:fs";
import { withFallback } from "../contract/thrown.ts";

/** What a program gets from its parent and may mean that it is trusted less: in `/proc/self/status`. */
const INHERITED =
	/^(?:Umask|Uid|Gid|Groups|Cap(?:Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):.*$/gm;

/**
 * The rights that a child of this program would have now. A guard keeps those of the moment in which it was started: where
 * they have changed since, its workers would have others than this program gives them.
 */
export function inheritedRights(): string {
	// Fallback: not Linux, or no descriptor is free.
	return withFallback("", () => {
		const status = readFileSync("/proc/self/status", "utf8");
		return (status.match(INHERITED) ?? []).join("\n");
	});
}
