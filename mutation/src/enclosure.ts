import { spawnSync } from "node:child_process";
import { chownSync } from "node:fs";

/** Of nobody: a user who owns nothing here and may signal no process of anybody. */
const NOBODY = 65_534;

/**
 * A mutant of code that kills processes and removes directories may do either to
 * anything. So it runs where it can harm nothing: in a pid namespace that has
 * only its own processes, and, where root starts it, as nobody.
 */
export interface Enclosure {
	/** Put before the command. */
	readonly prefix: readonly string[];
	/** Gives the mutants' user a directory to write to. */
	handOver(directory: string): void;
}

/** @throws Error when this machine permits no private pid namespace. */
export function enclosure(): Enclosure {
	const isRoot = process.getuid?.() === 0;
	const prefix = [
		"unshare",
		...(isRoot ? [] : ["--user", "--map-current-user"]),
		...["--pid", "--fork", "--kill-child", "--mount-proc"],
		...(isRoot
			? [
					"setpriv",
					"--pdeathsig=KILL",
					`--reuid=${NOBODY}`,
					`--regid=${NOBODY}`,
					"--clear-groups",
				]
			: []),
	];
	const [command = "", ...args] = [...prefix, "true"];
	const { status, stderr, error } = spawnSync(command, args, {
		encoding: "utf8",
	});
	if (status !== 0)
		throw new Error(
			`Mutants run in a private pid namespace only, and there is none here: ${error?.message ?? stderr.trim()}. On Linux allow unprivileged user namespaces, or run this as root.`,
		);
	return {
		prefix,
		handOver: (directory) => {
			if (isRoot) chownSync(directory, NOBODY, NOBODY);
		},
	};
}
