import type { LayerReport } from "../contract/protection.ts";
import { counted } from "../contract/text.ts";
import type { ReaperFindings } from "./reaper-findings.ts";

/** The layer of the doctor that reports what the next start of a program would meet. */
export function reaperReport(findings: ReaperFindings): LayerReport {
	const { living, dead, unclear } = findings;
	const orphans = dead.flatMap((run) => run.orphans).length;
	return {
		layer: "reaper",
		status: "active",
		detail: `the next start would clean up after ${counted(dead.length, "dead run", "dead runs")} with ${counted(orphans, "living process", "living processes")}; ${counted(living.length, "run is", "runs are")} alive, and ${unclear.length} cannot be checked from here`,
	};
}
