import type { LayerReport, Protection } from "../../src/contract/protection.ts";

export function layer(
	reports: readonly LayerReport[],
	name: string,
): LayerReport {
	const found = reports.find((report) => report.layer === name);
	if (found === undefined) throw new Error(`There is no layer ${name}.`);
	return found;
}

export function protection(
	name: string,
	inspect: Protection["inspect"],
): Protection {
	return {
		name,
		whenUnavailable: "start",
		inspect,
		engage: () => Promise.reject(new Error("the doctor engages nothing")),
	};
}
