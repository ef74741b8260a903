import { execFile } from "node:child_process";
import { VERSION } from "../os/gen/version.ts";

const INSPECTION_LIMIT_MS = 10_000;

/** Why there can be no guard here, and what would help. */
export class GuardUnavailable extends Error {
	override readonly name = "GuardUnavailable";
	readonly reason: string;
	readonly remedy: string;

	constructor(reason: string, remedy: string) {
		super(`${reason} ${remedy}`);
		this.reason = reason;
		this.remedy = remedy;
	}
}

/** Whether a guard exists for this system at all: if not, its absence is not reported. */
export function hasGuard(platform: string, arch: string): boolean {
	return platform === "linux" && (arch === "x64" || arch === "arm64");
}

/**
 * The guard's program: the native binary, whose first argument is `guard`.
 *
 * @throws GuardUnavailable when there is none for this system, or it is not installed.
 */
export function guardProgram(
	binary: string | undefined,
	{ platform, arch }: { platform: string; arch: string } = process,
): string {
	if (!hasGuard(platform, arch))
		throw new GuardUnavailable(
			`The guard is a program for Linux on x64 and arm64; this is ${platform} on ${arch}.`,
			"Use the watchdog, which works here.",
		);
	if (binary !== undefined) return binary;
	const name = `@snakepit/native-linux-${arch}`;
	throw new GuardUnavailable(
		`The guard's package ${name} was not found, or this user may not execute its files.`,
		`Run npm install ${name}@${VERSION} where the program runs: it is an optional dependency of @snakepit/core, so npm --omit=optional skips it, and a bundle does not contain it.`,
	);
}

/**
 * Has the guard inspect this machine.
 *
 * @throws GuardUnavailable when none can work.
 */
export async function inspectGuard(program: string): Promise<void> {
	const reason = await new Promise<string | undefined>((resolve) => {
		const options = { timeout: INSPECTION_LIMIT_MS, maxBuffer: 65_536 };
		execFile(program, ["guard", "--inspect"], options, (error, stdout) =>
			resolve(error === null ? undefined : stdout.trim() || error.message),
		);
	});
	if (reason !== undefined)
		throw new GuardUnavailable(
			`The guard cannot work on this system: ${reason}.`,
			"Mount /proc, and allow prctl(PR_SET_CHILD_SUBREAPER) in the container's filter of system calls.",
		);
}
