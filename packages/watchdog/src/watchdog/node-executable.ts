import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import {
	type Execution,
	NODE_ONLY_VARIABLE,
	NOT_NODE_STATUS,
	ownExecutable,
	requireToSpawn,
	thisExecution,
} from "@snakepit/core/infrastructure";
import { ProtectionUnavailable } from "../own-file.ts";

/** What decides which Node is started; given in tests. */
export interface NodePlace {
	/** The option `node`. */
	readonly named: string | undefined;
	readonly execution: Execution;
	/** The variable PATH. */
	readonly path: string | undefined;
}

/** A Node that is not ready to answer after this time is not used. */
const PROOF_LIMIT_MS = 10_000;
/** The native module of the ledger needs it. */
const OLDEST_MAJOR = 22;
/** Printed by the candidate itself: `node` in PATH may be a script that starts one. */
const PROOF =
	"JSON.stringify({ execPath: process.execPath, versions: process.versions })";

/**
 * The path of a Node that can run a file. That is the one which runs this program, if Node runs it from a file; else it
 * is a Node that has proven to be one by its answer.
 *
 * @throws ProtectionUnavailable with the candidates that are none.
 */
export async function findNode(
	{ named, execution, path }: NodePlace,
	limitMs: number = PROOF_LIMIT_MS,
): Promise<string> {
	if (named !== undefined) {
		const proof = await prove(named, limitMs);
		if ("execPath" in proof) return proof.execPath;
		throw new ProtectionUnavailable(
			`The watchdog's option "node" is ${named}. It ${proof.isNot}.`,
			`Name the executable of a Node ${OLDEST_MAJOR} or newer.`,
		);
	}
	if (isNode(execution)) return execution.execPath;
	const refused: string[] = [];
	for (const candidate of candidates(path, execution.execPath)) {
		const proof = await prove(candidate, limitMs);
		if ("execPath" in proof) return proof.execPath;
		refused.push(`${candidate} ${proof.isNot}`);
	}
	throw new ProtectionUnavailable(
		`The watchdog is a program for Node. ${whatItIs(execution)}, and no Node was found in PATH${refused.length === 0 ? "" : ` (${refused.join("; ")})`}.`,
		`Install Node ${OLDEST_MAJOR} or newer where the program runs, or name one: watchdog({ node: "/path/to/node" }).`,
	);
}

/** Which Node this program would use. */
export function thisPlace(named: string | undefined): NodePlace {
	return { named, execution: thisExecution(), path: process.env["PATH"] };
}

/** Whether the executable of this program, given a file, runs that file. */
function isNode(execution: Execution): boolean {
	return execution.runtime === "Node" && ownExecutable(execution) === undefined;
}

function whatItIs(execution: Execution): string {
	const { execPath, runtime } = execution;
	return ownExecutable(execution) === undefined
		? `This program is run by ${runtime}`
		: `${execPath} is this program itself`;
}

/** What PATH has as `node`, each file once, but for this very program. A relative directory may be anybody's. */
function* candidates(path = "", own: string): Generator<string> {
	const seen = new Set([fileNumber(own)]);
	for (const directory of path.split(delimiter).filter(isAbsolute)) {
		const candidate = join(directory, "node");
		const number = fileNumber(candidate);
		if (number === undefined || seen.has(number)) continue;
		seen.add(number);
		yield candidate;
	}
}

/** Tells an executable file from others, whatever its names; `undefined` if it is none. */
function fileNumber(path: string): string | undefined {
	try {
		accessSync(path, constants.X_OK);
		const { dev, ino } = statSync(path);
		return `${dev}:${ino}`;
	} catch {
		return undefined;
	}
}

type Proof = { readonly execPath: string } | { readonly isNot: string };

/** Has a candidate evaluate an expression, within a limit. If it is a copy of this program instead, it ends at once. */
async function prove(candidate: string, limitMs: number): Promise<Proof> {
	requireToSpawn(1);
	const { NODE_OPTIONS: _, ...env } = process.env;
	const said = await new Promise<string | Error>((resolve) => {
		execFile(
			candidate,
			["-p", PROOF],
			{
				cwd: "/",
				env: { ...env, [NODE_ONLY_VARIABLE]: "-p" },
				timeout: limitMs,
				killSignal: "SIGKILL",
				maxBuffer: 65_536,
			},
			(error, stdout) => resolve(error ?? stdout),
		);
	});
	return said instanceof Error ? failed(said, limitMs) : judged(said);
}

function failed(
	error: Error & { code?: unknown; killed?: boolean },
	limitMs: number,
): Proof {
	if (error.killed === true)
		return { isNot: `did not answer within ${limitMs / 1000} s` };
	if (error.code === NOT_NODE_STATUS)
		return { isNot: "is not Node, but a copy of this program" };
	return { isNot: `is not Node (it ended with ${error.code ?? "a signal"})` };
}

function judged(said: string): Proof {
	try {
		const { execPath, versions } = JSON.parse(said);
		for (const other of ["bun", "deno", "electron", "nw"])
			if (other in versions) return { isNot: `is not Node, but ${other}` };
		if (!(Number.parseInt(versions.node, 10) >= OLDEST_MAJOR))
			return { isNot: `is Node ${versions.node}` };
		if (typeof execPath === "string" && isAbsolute(execPath))
			return { execPath };
	} catch {
		// Not what Node prints.
	}
	return { isNot: "is not Node: it did not evaluate an expression" };
}
