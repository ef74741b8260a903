import { clearInterval, setInterval } from "node:timers";
import { endIfCopy } from "@snakepit/core/infrastructure";
import type {
	LayerReport,
	Protection,
	ProtectionContext,
} from "@snakepit/core/protection";
import { ProtectionUnavailable } from "../own-file.ts";
import { findNode, thisPlace } from "./node-executable.ts";
import { resolveWatchdogOptions, type WatchdogOptions } from "./options.ts";
import { WatchdogKeeper } from "./watchdog-keeper.ts";
import { startWatchdog } from "./watchdog-process.ts";

endIfCopy();

/** By what the option `node` says: who is asked once for a proof is not asked again. */
const found = new Map<string | undefined, Promise<string>>();

function provenNode(named: string | undefined): Promise<string> {
	const known = found.get(named);
	if (known !== undefined) return known;
	const node = findNode(thisPlace(named));
	found.set(named, node);
	node.catch(() => found.delete(named)); // It may be installed later.
	return node;
}

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
		inspect: () => inspect(resolved.node),
		engage: async (context: ProtectionContext) =>
			keeper.protect(context, resolved, await provenNode(resolved.node)),
	};
}

/** Starts one, and ends it again. */
async function inspect(named: string | undefined): Promise<LayerReport> {
	// A watchdog never keeps the program running.
	const holdOpen = setInterval(() => {}, 2 ** 30);
	try {
		const started = startWatchdog(await provenNode(named));
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
				: `Node must be able to start a program of the installed package @snakepit/watchdog.`,
		};
	} finally {
		clearInterval(holdOpen);
	}
}
