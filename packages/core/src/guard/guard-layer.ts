import type { LayerReport } from "../protection.ts";
import {
	GuardUnavailable,
	guardProgram,
	inspectGuard,
} from "./guard-program.ts";

/** Whether a run on this machine has a guard, as the doctor reports it. */
export async function guardLayer(
	binary: string | undefined,
): Promise<LayerReport> {
	const layer = "guard";
	try {
		const program = guardProgram(binary);
		await inspectGuard(program);
		return {
			layer,
			status: "available",
			detail: `every run has one, unless it was opened with guard: "off": it ends every descendant of a worker with this program, also one that left its group and session and carries no marker; where three guards are lost one after the other, each within 10 s of its start, workers are started without one for a minute, and standard error says so (${program})`,
		};
	} catch (error) {
		if (!(error instanceof GuardUnavailable)) throw error;
		return {
			...{ layer, status: "unavailable" },
			detail: `${error.reason} A descendant that left the group of its worker lives until the next start, and longer if it has cleared its environment.`,
			remedy: error.remedy,
		};
	}
}
