import { ForkLost } from "../contract/errors.ts";
import type { StartedProcess } from "../contract/world.ts";
import type { Worker } from "./worker.ts";

/** Looks whether a worker ended because the process that had forked it did: that is not its own fault. */
export function noteParentLost(
	{ cause }: Pick<Worker, "cause">,
	{ source, isParentLost }: Pick<StartedProcess, "source" | "isParentLost">,
): void {
	if (isParentLost === true && cause.isOpen)
		cause.parentLost(
			`the ${source === "preload" ? "preloaded parent" : source} that had forked it was lost`,
		);
}

/** The same of a guard that was lost while it forked the worker. */
export function noteForkLost(
	{ cause }: Pick<Worker, "cause">,
	error: unknown,
): void {
	if (error instanceof ForkLost && error.source === "guard" && cause.isOpen)
		cause.parentLost("the guard was lost before it had forked it");
}
