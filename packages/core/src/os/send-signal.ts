import type { SignalOutcome } from "../contract/world.ts";

/**
 * Sends a signal to a pid, or to the group `-number`.
 *
 * The caller has just proven whose number it is.
 */
export function sendSignal(
	number: number,
	signal: NodeJS.Signals,
): SignalOutcome {
	// 0 and -1 mean "my group" and "everyone": never.
	if (!Number.isInteger(number) || Math.abs(number) < 2) return "refused";
	try {
		process.kill(number, signal);
		return "sent";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ESRCH"
			? "gone"
			: "refused";
	}
}

/**
 * Whether a group of this number has any member, dead ones that were not reaped included: that of a process that has
 * just ended nearly always has none, and to ask costs no scan of every process. Sends nothing.
 */
export function hasMembers(groupId: number): boolean {
	if (!Number.isInteger(groupId) || groupId < 2) return false;
	try {
		process.kill(-groupId, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}
