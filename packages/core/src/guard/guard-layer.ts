import type { LayerReport } from "../contract/protection.ts";
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
			detail: `every run has a guard, unless it is opened with guard: "off"; when this program dies, the guard kills every descendant of its workers, even one that left its group and session and carries no marker; if three guards in a row are lost within 10 s of their start, workers start without a guard for a minute, and standard error says so (${program})`,
		};
	} catch (error) {
		if (!(error instanceof GuardUnavailable)) throw error;
		return {
			...{ layer, status: "unavailable" },
			detail: `${error.reason} Without a guard, a descendant that left its worker's group survives until the next start, or longer if it cleared its environment.`,
			remedy: error.remedy,
		};
	}
}
