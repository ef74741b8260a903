import type { ProcessExit } from "../contract/identity.ts";

/** How a process ended, as part of a sentence. */
export function describeExit(exit: ProcessExit | undefined): string {
	if (exit === undefined) return "was sent SIGKILL and is still there";
	return exit.kind === "code"
		? `exited with code ${exit.code}`
		: `was ended by ${exit.signal}`;
}
