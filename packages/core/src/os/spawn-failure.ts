import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { getSystemErrorName } from "node:util";
import { StartError } from "../contract/errors.ts";
import { anyWorkingDirectory } from "../contract/working-directory.ts";
import type { ProcessSpec } from "../contract/world.ts";

/** What helps when no more files can be opened, by this program or on the whole system. */
export const DESCRIPTORS_REMEDY =
	"Raise the limit of open files (ulimit -n; LimitNOFILE of a service), or close what the program has open.";

/** Whether an error means that this process, or the system, can open nothing more. */
export function outOfDescriptors(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "EMFILE" || code === "ENFILE";
}

/**
 * What a look at the machine threw, in our words where it lacked descriptors.
 *
 * @param what what could not be done, as the beginning of a sentence.
 */
export function describedRefusal(error: unknown, what: string): unknown {
	if (!outOfDescriptors(error)) return error;
	return new StartError({
		code: "OUT_OF_DESCRIPTORS",
		message: `${what}: no more files can be opened (${(error as Error).message}). ${DESCRIPTORS_REMEDY}`,
		cause: error,
	});
}

/** What the system reports when a directory cannot be written, and what helps. */
const UNWRITABLE: readonly (readonly [RegExp, string])[] = [
	[/^(EMFILE|ENFILE)$/, DESCRIPTORS_REMEDY],
	[/^(ENOSPC|EDQUOT)$/, "Its file system is full: free some space there."],
	[/^EROFS$/, "Its file system is mounted read-only: mount it writable."],
	[
		/^(EACCES|EPERM)$/,
		"This user may not write there: change its permissions.",
	],
	[/^(ENOENT|ENOTDIR)$/, "It does not exist, or a file is in its place."],
];

/** What to do about a directory that cannot be written, by the system's code; empty when the code does not tell. */
export function unwritableRemedy(code: string | undefined): string {
	return UNWRITABLE.find(([pattern]) => pattern.test(code ?? ""))?.[1] ?? "";
}

/** A program, as far as it matters to why it cannot be started. */
interface SpawnedProgram
	extends Pick<ProcessSpec, "executable">,
		Partial<Pick<ProcessSpec, "cwd">> {
	readonly env: Readonly<Record<string, string | undefined>>;
}

/** The system's refusal to start a program, with what helps. */
export function spawnFailed(
	error: NodeJS.ErrnoException,
	spec: SpawnedProgram,
): StartError {
	return new StartError({
		code: "SPAWN_FAILED",
		message: `Cannot start ${spec.executable}: ${error.message}. ${remedy(error.code, spec)}`,
		cause: error,
	});
}

function remedy(code: string | undefined, spec: SpawnedProgram): string {
	if (spec.cwd !== undefined && !existsSync(spec.cwd))
		return `Its working directory ${spec.cwd} does not exist.`;
	switch (code) {
		case "ENOENT":
			return notFound(spec);
		case "EACCES":
			if (isDirectory(spec))
				return "It is a directory: name the program in it.";
			return "It is not executable for this user: check its mode (chmod +x) and the directories above it.";
		case "ENOEXEC":
			return "It was built for another system, or it is a script whose first line does not name an interpreter.";
		case "E2BIG":
			return "Arguments and environment together are too long for the system.";
		case "EAGAIN":
			return "This user or control group has reached its limit of processes: raise it (ulimit -u, pids.max) or start fewer workers (size.max).";
		case "ENOMEM":
			return "The system has no memory for another process: free some, or start fewer workers (size.max).";
		case "EMFILE":
		case "ENFILE":
			return `A worker needs up to 8 descriptors of this program. ${DESCRIPTORS_REMEDY} Or start fewer workers (size.max).`;
		default:
			return "The cause of this error holds the system's reason.";
	}
}

function isDirectory({ executable, cwd = "" }: SpawnedProgram): boolean {
	// Of a file there is no such entry.
	return executable.includes("/") && existsSync(`${fileIn(cwd, executable)}/.`);
}

function fileIn(directory: string, executable: string): string {
	return resolve(anyWorkingDirectory(), directory, executable);
}

/** Which file is not there: the program, or what the system needs to run it. */
function notFound({ executable, env, cwd = "" }: SpawnedProgram): string {
	const path = env["PATH"];
	const places = executable.includes("/") ? [cwd] : (path?.split(":") ?? []);
	const file = places
		.map((place) => fileIn(place, executable))
		.find((each) => existsSync(each));
	if (file !== undefined) {
		const interpreter = interpreterOf(file);
		if (interpreter?.endsWith("\r"))
			return `The first line of ${file} ends with a carriage return, which is taken for a part of the interpreter's name: save it with line ends of Unix.`;
		return interpreter === undefined
			? `${file} exists, but the loader that it names does not: it was built for another system, or for another C library.`
			: `${file} exists, but ${interpreter}, the interpreter that its first line names, does not. Install it, or change the line.`;
	}
	return executable.includes("/")
		? "The file does not exist; it may have been moved or removed."
		: `Install it, put its directory into PATH (now ${path ?? "not set"}), or name it with its full path.`;
}

/** More than the system reads of a first line. */
const FIRST_LINE_BYTES = 512;

function interpreterOf(file: string): string | undefined {
	try {
		const opened = openSync(file, "r");
		try {
			const start = Buffer.alloc(FIRST_LINE_BYTES);
			const length = readSync(opened, start);
			const line = start.toString("utf8", 0, length).split("\n")[0] ?? "";
			return /^#!\s*(\S+\r?)/.exec(line)?.[1];
		} finally {
			closeSync(opened);
		}
	} catch {
		return undefined;
	}
}

/** A program whose descriptors the process that forks it cannot give it. @param highest the number up to which it can. */
export function descriptorsUnsupported(
	{ executable, descriptors }: ProcessSpec,
	source: string,
	highest: number,
): StartError {
	const numbers = [...(descriptors?.keys() ?? [])].join(", ");
	const instead =
		source === "preload"
			? "cannot pass on descriptors. Remove preload() from the adapter."
			: `passes on only the numbers 3 to ${highest - 1}, and listeners only with a lifeline. Use these numbers, or leave the option guard out: then this program starts without a guard.`;
	return new StartError({
		code: "DESCRIPTORS_UNSUPPORTED",
		message: `Cannot start ${executable} with the descriptors ${numbers} that launch() asks for: workers are forked by the ${source}, which ${instead}`,
	});
}

/** An error as Node throws it where the system refuses to start a program. */
export function systemError(
	errno: number,
	executable: string,
): NodeJS.ErrnoException {
	const code = getSystemErrorName(-errno);
	return Object.assign(new Error(`spawn ${executable} ${code}`), {
		code,
		errno: -errno,
		syscall: "spawn",
	});
}

/** A program that was started and ended again, since its identity could not be read. */
export function unidentified(pid: number, spec: SpawnedProgram): StartError {
	return new StartError({
		code: "SPAWN_FAILED",
		message: `${spec.executable} was started as pid ${pid} and killed again, because the process table of this system cannot be read: a process that cannot be identified cannot be killed safely later. Mount /proc.`,
	});
}
