import { execFile } from "node:child_process";
import { nativeBinary } from "@snakepit/core/infrastructure";
import { VERSION } from "../gen/version.ts";
import { ProtectionUnavailable } from "../own-file.ts";

const INSPECTION_LIMIT_MS = 10_000;

/**
 * The guard's program: the native binary, whose first argument is `guard`.
 *
 * @throws ProtectionUnavailable when there is none for this system, or it is not installed.
 */
export function guardProgram(
	{ platform, arch }: { platform: string; arch: string } = process,
	find: typeof nativeBinary = nativeBinary,
): string {
	if (platform !== "linux")
		throw new ProtectionUnavailable(
			`The guard is made of what Linux offers; this is ${platform}.`,
			"Use the watchdog, which works here.",
		);
	const program = find({ platform, architecture: arch });
	if (program !== undefined) return program;
	const name = `@snakepit/native-linux-${arch}`;
	if (arch !== "x64" && arch !== "arm64")
		throw new ProtectionUnavailable(
			`The guard is a native program for x64 and arm64; this is ${arch}.`,
			"Use the watchdog, which works here.",
		);
	throw new ProtectionUnavailable(
		`The guard is a program of the package ${name}, which was not found, or whose files may not be executed.`,
		`Run npm install ${name}@${VERSION} where the program runs: it is an optional dependency of @snakepit/core, which npm leaves out with --omit=optional, and a bundle does not contain.`,
	);
}

/**
 * Has the guard inspect this machine.
 *
 * @throws ProtectionUnavailable when none can work.
 */
export async function inspectGuard(program: string): Promise<void> {
	const reason = await new Promise<string | undefined>((resolve) => {
		const options = { timeout: INSPECTION_LIMIT_MS, maxBuffer: 65_536 };
		execFile(program, ["guard", "--inspect"], options, (error, stdout) =>
			resolve(error === null ? undefined : stdout.trim() || error.message),
		);
	});
	if (reason !== undefined)
		throw new ProtectionUnavailable(
			`This system does not let a process be a guard: ${reason}.`,
			"Mount /proc, and allow prctl(PR_SET_CHILD_SUBREAPER) in the container's filter of system calls.",
		);
}
