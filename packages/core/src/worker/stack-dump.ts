import type { Clock, ProcessHost } from "../world.ts";
import { goneWithin } from "./gone-within.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

/** The stacks come through standard error within this time or not at all. */
export const DUMP_MS = 250;

/**
 * Has a program whose start takes too long write its stacks, which show where it
 * hangs; resolves when they are there, or will not be.
 *
 * Only where the system reports that the program handles the signal: any other
 * would die of it, and leave a core dump.
 */
export async function dumpUnreadyStacks(
	{
		process,
		output,
		dumpSignal,
	}: Pick<WorkerBelongings, "process" | "output" | "dumpSignal">,
	{
		clock,
		host,
	}: { readonly clock: Clock; readonly host: Pick<ProcessHost, "handles"> },
): Promise<void> {
	if (dumpSignal === undefined) return;
	if (host.handles(process.identity, dumpSignal) !== "yes") return;
	output.expectStacks();
	if (process.signal(dumpSignal, "process") !== "sent") return;
	await goneWithin(process, DUMP_MS, clock);
}
