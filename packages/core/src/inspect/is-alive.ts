import { isSameProcess, type ProcessIdentity } from "../contract/identity.ts";
import { thisMachine } from "../os/this-machine.ts";

/**
 * Whether a process of the history lives now: that very one, and not another with its pid. A process of another machine,
 * or of a pid namespace that cannot be seen from here, does not.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function isAlive(identity: ProcessIdentity): boolean {
	const found = thisMachine().observe(identity.pid);
	return typeof found !== "string" && isSameProcess(found, identity);
}
