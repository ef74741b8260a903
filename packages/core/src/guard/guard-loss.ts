import type { ProcessExit } from "../contract/identity.ts";

const BY_SIGNAL =
	"was killed by a signal from a person, another program, or the kernel when memory ran out (dmesg shows that)";

/** By exit status of the outer guard. Source: native/src/guard/exit-status.h. */
const LOSSES: Readonly<Record<number, string>> = {
	64: "it wrongly concluded that this program was dead",
	65: "one of its inner processes failed, or did not answer in time",
	66: "it received an invalid request",
	67: `its inner process, which forks the workers, ${BY_SIGNAL}`,
	68: `its middle process ${BY_SIGNAL}`,
	70: "its outer process failed",
};

/** Which of the three processes of a chain was lost, and how, as a part of a sentence. */
export function describeLoss(exit: ProcessExit): string {
	return exit.kind === "signal"
		? `its outer process ${BY_SIGNAL.replace("a signal", exit.signal)}`
		: (LOSSES[exit.code] ?? `its outer process ended with status ${exit.code}`);
}
