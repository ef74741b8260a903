import { spawn } from "node:child_process";
import { once } from "node:events";
import type { StopRequest } from "./stop-request.ts";

export interface DemoSetting {
	/** The program, and its arguments. */
	readonly command: readonly string[];
	/** How long it may take to end after it was asked to, and again after it was told to. */
	readonly endWithinMs: number;
	/** Who is told when somebody presses Ctrl-C: at a terminal the demo hears of it as well. */
	readonly ctrlC: "told_to_both" | "told_to_us";
}

/** How the demo ended. */
export interface DemoEnd {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

/**
 * Runs the demo in the terminal of this program. A request to stop ends it: it is
 * asked first, then told, then killed.
 */
export async function runDemo(
	{ command, endWithinMs, ctrlC }: DemoSetting,
	stop: StopRequest,
): Promise<DemoEnd> {
	const demo = spawn(process.execPath, [...process.execArgv, ...command], {
		stdio: "inherit",
	});
	const timers: NodeJS.Timeout[] = [];
	const end = (): void => {
		// To ask twice is to tell it: then it ends without telling the viewer how.
		if (stop.came !== "SIGINT" || ctrlC === "told_to_us") demo.kill("SIGTERM");
		timers.push(
			setTimeout(() => demo.kill("SIGTERM"), endWithinMs),
			setTimeout(() => demo.kill("SIGKILL"), 2 * endWithinMs),
		);
	};
	stop.signal.addEventListener("abort", end);
	try {
		const [code, signal] = (await once(demo, "exit")) as [
			DemoEnd["code"],
			DemoEnd["signal"],
		];
		return { code, signal };
	} finally {
		stop.signal.removeEventListener("abort", end);
		for (const timer of timers) clearTimeout(timer);
	}
}
