import type { Duplex } from "node:stream";
import type { RemoteUsage } from "@snakepit/core/adapter";

/** A report has two numbers. */
const LONGEST_LINE = 1_000;

/** The resource use of a worker on its node, as its stand-in reports it: a line of JSON about once a second while it changes. */
export class ReportedUsage {
	/** The latest report; `undefined` before the first. */
	latest: RemoteUsage | undefined;
	private rest = "";

	constructor(reports: Duplex) {
		reports.setEncoding("utf8");
		reports.on("data", (text: string) => this.take(text));
		// It ends with the stand-in, which the pool notices.
		reports.on("error", () => {});
	}

	private take(text: string): void {
		const lines = (this.rest + text).split("\n");
		this.rest = (lines.pop() ?? "").slice(-LONGEST_LINE);
		const report = usageIn(lines.at(-1));
		if (report !== undefined) this.latest = report;
	}
}

function usageIn(line: string | undefined): RemoteUsage | undefined {
	try {
		const { cpuMs, residentBytes } = JSON.parse(line ?? "{}");
		return Number.isFinite(cpuMs) && Number.isFinite(residentBytes)
			? { cpuTimeMs: cpuMs, residentBytes }
			: undefined;
	} catch {
		return undefined;
	}
}
