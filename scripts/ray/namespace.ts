import { spawnSync } from "node:child_process";
import { readlinkSync } from "node:fs";

/** Names the network namespace that {@link NAMESPACE} left: inside, it is not the own one. */
const OUTSIDE = "SNAKEPIT_OUTER_NETWORK";

/**
 * Put before a command: gives it a network that has only loopback, and a pid namespace, in which
 * everything ends with its first process. That ends with the thread that started it.
 *
 * Ray listens on all interfaces without authentication, so that its tests run nowhere else.
 */
export const NAMESPACE: readonly string[] = [
	...["setpriv", "--pdeathsig=KILL"],
	...["unshare", ...(process.getuid?.() === 0 ? [] : ["--map-root-user"])],
	...["--net", "--pid", "--fork", "--kill-child", "--mount-proc"],
	// A shell waits for orphans, too.
	...["sh", "-c", 'ip link set lo up && { "$@"; exit $?; }', "sh"],
];

/** What a command that is started in {@link NAMESPACE} has to have in its environment. */
export function namespaceEnv(): Record<string, string> {
	return { [OUTSIDE]: network() };
}

/** Runs this program once more, with its arguments, in {@link NAMESPACE}; returns its exit code. */
export function runInside(): number {
	const [command = "", ...args] = [
		...[...NAMESPACE, process.execPath, ...process.execArgv],
		...process.argv.slice(1),
	];
	const { status } = spawnSync(command, args, {
		stdio: "inherit",
		env: { ...process.env, ...namespaceEnv() },
	});
	return status ?? 1;
}

/** Why there can be no such namespace here; `undefined` when there can, or this is one. */
export function namespaceUnavailable(): string | undefined {
	if (process.platform !== "linux") return "there are no namespaces here";
	return isInside() ? undefined : unavailable("network namespace", NAMESPACE);
}

/** Why nothing can be run behind these words here; `undefined` when it can. @param what they make. */
export function unavailable(
	what: string,
	[command = "", ...args]: readonly string[],
): string | undefined {
	const { error, status, stderr } = spawnSync(command, [...args, "true"], {
		encoding: "utf8",
	});
	if (status === 0) return undefined;
	return `no ${what} here: ${error?.message ?? stderr.trim()}`;
}

/** Whether this process is in a namespace of {@link NAMESPACE}. */
export function isInside(): boolean {
	const outside = process.env[OUTSIDE];
	return outside !== undefined && outside !== network();
}

/** @throws Error when this process has another network than loopback. */
export function assertInside(): void {
	if (isInside()) return;
	throw new Error(
		"Ray would listen on every interface of this machine, so that it is started in a network namespace only. Put `node scripts/ray/inside.ts` before the command.",
	);
}

function network(): string {
	return readlinkSync("/proc/self/ns/net");
}
