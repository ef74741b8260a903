import { execFile } from "node:child_process";
import { OwnFileMissing, ownFile } from "../own-file.ts";

/**
 * The guard's program: a directory of Python source, which the build copies into this package.
 *
 * @throws GuardUnavailable when it is not there.
 */
export function guardProgram(): string {
	// A checkout runs its sources, even after a build.
	const isSource = import.meta.url?.endsWith(".ts");
	try {
		return ownFile(
			isSource
				? "../../python/src/snakepit_guard"
				: "dist/guard/snakepit_guard",
		);
	} catch (error) {
		if (!(error instanceof OwnFileMissing)) throw error;
		throw new GuardUnavailable(error.reason, error.remedy);
	}
}

/** Isolated from the user's settings and packages: a guard needs the standard library alone. */
export const PYTHON_FLAGS: readonly string[] = ["-I", "-S", "-E"];

const OLDEST: readonly [number, number] = [3, 10];
const INSPECTION_LIMIT_MS = 10_000;
const CANDIDATES: readonly string[] = ["python3", "python"];

/** An interpreter that can be a guard here. */
export interface GuardPython {
	/** With its full path: the one that was found may be a script that searches each time. */
	readonly executable: string;
	/** For example `3.11.7`. */
	readonly version: string;
}

/** Why no guard can work here, and what would help. */
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

/**
 * Finds an interpreter that can be a guard, and has it inspect this machine.
 *
 * @param python the one to take; otherwise `python3` and `python` of PATH are tried.
 * @throws GuardUnavailable
 */
export async function findGuardPython(
	python: string | undefined,
	program: string,
	env: NodeJS.ProcessEnv,
): Promise<GuardPython> {
	const candidates = python === undefined ? CANDIDATES : [python];
	const reasons: string[] = [];
	for (const candidate of candidates) {
		const found = judgeInspection(
			candidate,
			await inspect(candidate, program, env),
		);
		if (typeof found !== "string") return found;
		reasons.push(found);
	}
	throw new GuardUnavailable(
		`No Python for the guard: ${reasons.join("; ")}.`,
		`Install Python ${OLDEST.join(".")} or newer, or name one with guard({ python }).`,
	);
}

/** The answer of an interpreter. */
export interface Inspection {
	readonly output: string;
	/** Set when it could not be run, or failed. */
	readonly failure: string | undefined;
}

/**
 * Decides whether an interpreter can be a guard, and if not, why.
 *
 * @throws GuardUnavailable when no interpreter could be on this machine.
 */
export function judgeInspection(
	candidate: string,
	{ output, failure }: Inspection,
): GuardPython | string {
	const report = parse(output);
	const { executable, version, unavailable } = report;
	if (typeof version !== "string" || typeof executable !== "string")
		return `${candidate}: ${failure ?? "it is no Python"}`;
	const [major = 0, minor = 0] = version.split(".").map(Number);
	if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
		return `${candidate} is Python ${version}, at least ${OLDEST.join(".")} is needed`;
	if (typeof unavailable === "string")
		throw new GuardUnavailable(
			`This system does not let a process be a guard: ${unavailable}.`,
			"Mount /proc, and allow prctl(PR_SET_CHILD_SUBREAPER) in the container's filter of system calls.",
		);
	return { executable, version };
}

function inspect(
	candidate: string,
	program: string,
	env: NodeJS.ProcessEnv,
): Promise<Inspection> {
	const args = [...PYTHON_FLAGS, program, "--inspect"];
	const options = { env, timeout: INSPECTION_LIMIT_MS, maxBuffer: 65_536 };
	return new Promise((resolve) => {
		execFile(candidate, args, options, (error, stdout, stderr) => {
			const last = stderr.trim().split("\n").at(-1) ?? "";
			resolve({
				output: stdout,
				failure: error === null ? undefined : last || error.message,
			});
		});
	});
}

function parse(output: string): Readonly<Record<string, unknown>> {
	try {
		const report: unknown = JSON.parse(output);
		return typeof report === "object" && report !== null
			? (report as Readonly<Record<string, unknown>>)
			: {};
	} catch {
		return {};
	}
}
