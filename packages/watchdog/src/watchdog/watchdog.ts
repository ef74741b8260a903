import type {
	LayerReport,
	Protection,
	ProtectionContext,
} from "@snakepit/core/protection";
import { ProtectionUnavailable } from "../own-file.ts";
import { resolveWatchdogOptions, type WatchdogOptions } from "./options.ts";
import { WatchdogKeeper } from "./watchdog-keeper.ts";
import { startWatchdog } from "./watchdog-process.ts";

/** One for this process, or for each of its threads: a pipe belongs to a thread. */
const keeper = new WatchdogKeeper(startWatchdog);

/**
 * A process beside this program that ends its workers, of any kind, when the
 * program is killed: one for all pools, with no code in the workers.
 *
 * `openRun({ protections: [watchdog()] })`, or `createPool`. If it cannot be
 * started the run opens without it, with the event `protection.unavailable`; with
 * `whenUnavailable: "refuse"` that throws StartError `PROTECTION_UNAVAILABLE`.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function watchdog(options: WatchdogOptions = {}): Protection {
	const resolved = resolveWatchdogOptions(options);
	return {
		name: "watchdog",
		whenUnavailable: resolved.whenUnavailable,
		settings: { ...resolved },
		inspect,
		engage: (context: ProtectionContext) => keeper.protect(context, resolved),
	};
}

/** Starts one, and ends it again. */
async function inspect(): Promise<LayerReport> {
	// A watchdog never keeps the program running.
	const holdOpen = setInterval(() => {}, 2 ** 30);
	try {
		const started = startWatchdog();
		try {
			await started.ready;
		} finally {
			started.end();
			await started.exited;
		}
		return {
			layer: "watchdog",
			status: "available",
			detail:
				"when the program is killed, a separate process kills its workers, their groups and every process with the run's marker",
		};
	} catch (error) {
		const missing = error instanceof ProtectionUnavailable;
		return {
			layer: "watchdog",
			status: "unavailable",
			detail: missing ? error.reason : (error as Error).message,
			remedy: missing
				? error.remedy
				: `${process.execPath} must be a Node that can start a program of the installed package @snakepit/watchdog.`,
		};
	} finally {
		clearInterval(holdOpen);
	}
}
