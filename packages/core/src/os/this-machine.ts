import { StartError } from "../contract/errors.ts";
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

/** Node's permission model, of a program that was started with `--permission`. */
export interface PermissionModel {
	has(scope: string, reference?: string): boolean;
}

/** What a pool needs of it: the flag that allows it, and how Node names it. */
const NEEDED: readonly (readonly [
	flag: string,
	scope: string,
	path?: string,
])[] = [
	["--allow-child-process", "child"],
	["--allow-addons", "addon"],
	["--allow-net", "net"],
	["--allow-fs-read", "fs.read", "/dev/null"],
	["--allow-fs-write", "fs.write", "/dev/null"],
	...(process.platform === "linux"
		? ([["--allow-fs-read", "fs.read", "/proc"]] as const)
		: []),
];

/**
 * A pool starts programs, loads SQLite, listens on Unix sockets and reads the process table. Without a permission each of
 * these fails in its own way, some of them after the run has been opened.
 *
 * @param permission `undefined` without the permission model: everything is permitted.
 * @param flags those that this Node knows: before 25, the network needs no permission.
 * @throws StartError `PERMISSION_MISSING`.
 */
export function assertPermitted(
	permission: PermissionModel | undefined,
	flags: ReadonlySet<string>,
): void {
	if (permission === undefined) return;
	const missing = NEEDED.filter(
		([flag, scope, path]) => flags.has(flag) && !permission.has(scope, path),
	).map(([flag, , path]) => (path === undefined ? flag : `${flag}=${path}`));
	if (missing.length === 0) return;
	throw new StartError({
		code: "PERMISSION_MISSING",
		ran: "no",
		message: `This program was started with --permission, but without ${missing.join(", ")}, which pools need. Add ${missing.length === 1 ? "this flag" : "these flags"}, and allow the files that docs/security.md lists. Workers are programs of their own: Node's permission model does not apply to them.`,
	});
}
