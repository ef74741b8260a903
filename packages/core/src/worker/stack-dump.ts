import type { Clock } from "../contract/clock.ts";
import type { ProcessHost } from "../contract/world.ts";
import { goneWithin } from "../process/gone-within.ts";
import { DUMP_MS } from "../process/stop-ladder.ts";
import type { WorkerBelongings } from "./worker-parts.ts";

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
