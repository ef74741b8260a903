import { StartError } from "../errors.ts";
import { SystemProcessHost } from "./process-host.ts";
import { describedRefusal } from "./system-refusal.ts";

let machine: SystemProcessHost | undefined;

/**
 * One for all runs of this process.
 *
 * @throws StartError `PLATFORM_UNSUPPORTED` or `OUT_OF_DESCRIPTORS`.
 */
export function thisMachine(): SystemProcessHost {
	assertPlatform(process.platform);
	try {
		machine ??= new SystemProcessHost();
		return machine;
	} catch (error) {
		throw describedRefusal(error, "The process table cannot be read");
	}
}

/** Importing works everywhere; a pool needs process groups and signals. */
export function assertPlatform(platform: NodeJS.Platform): void {
	if (platform === "linux" || platform === "darwin") return;
	throw new StartError({
		code: "PLATFORM_UNSUPPORTED",
		ran: "no",
		message: `Pools run on Linux and macOS; this is ${platform}. On Windows use the Windows Subsystem for Linux (WSL 2).`,
	});
}
