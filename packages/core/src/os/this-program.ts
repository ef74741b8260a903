// Not `createRequire` by name: webpack would resolve what it is given when it builds.
import nodeModule from "node:module";
import { basename, isAbsolute } from "node:path";
import type { HostProgram } from "../contract/process-registry.ts";
import { VERSION } from "./gen/version.ts";

const MOST_ARGUMENTS = 64;
const MOST_CHARACTERS = 1_000;

/**
 * What the ledger records of this very program.
 *
 * @param content whether that may contain what the program was called with.
 */
export function thisProgram(content: "recorded" | "left_out"): HostProgram {
	const [executable = "", main = executable] = process.argv;
	const shown = process.argv.slice(0, MOST_ARGUMENTS);
	return {
		name: cut(basename(main)),
		cwd: workingDirectory(),
		argv: content === "recorded" ? shown.map(cut) : undefined,
		node: process.versions.node,
		snakepit: VERSION,
	};
}

/** Empty where it was removed. */
function workingDirectory(): string {
	try {
		return cut(process.cwd());
	} catch {
		return "";
	}
}

function cut(text: string): string {
	return text.slice(0, MOST_CHARACTERS);
}

/** What of this process tells how its program is executed; given in tests. */
export interface Execution {
	/** Whether a file that Node made with `--build-sea` or a blob is running. */
	readonly isSea: boolean;
	/** Whether `bun build --compile`, `deno compile` or pkg has made the executable. */
	readonly isCompiled: boolean;
	/** What executes JavaScript here, if it is not Node: Bun, Deno and Electron have Node's version, too. */
	readonly runtime: "Node" | "Bun" | "Deno" | "Electron" | "NW.js";
	readonly execPath: string;
	/** The file of the program; for an executable that contains it, how that was started. */
	readonly main: string | undefined;
}

/** How this program is executed. */
export function thisExecution(): Execution {
	const { versions, execPath, argv } = process;
	const { Bun, Deno } = globalThis as Globals;
	const isPacked = "pkg" in process;
	return {
		isSea: isSea(),
		isCompiled:
			Bun?.isStandaloneExecutable === true ||
			Deno?.build?.standalone === true ||
			isPacked,
		runtime:
			versions["bun"] !== undefined
				? "Bun"
				: versions["deno"] !== undefined
					? "Deno"
					: versions["electron"] !== undefined
						? "Electron"
						: versions["nw"] !== undefined
							? "NW.js"
							: "Node",
		execPath,
		main: argv[1],
	};
}

interface Globals {
	readonly Bun?: { readonly isStandaloneExecutable?: boolean };
	readonly Deno?: { readonly build?: { readonly standalone?: boolean } };
}

function isSea(): boolean {
	try {
		// Loaded at use, and from any path: not every runtime has it, and a bundle may not know its own path.
		return nodeModule.createRequire("/")("node:sea").isSea();
	} catch {
		return false;
	}
}

/**
 * The executable of this program if that contains the program itself, as a single executable application does: whatever
 * starts it starts the program, with any arguments.
 */
export function ownExecutable(
	{ isSea, isCompiled, execPath }: Execution = thisExecution(),
): string | undefined {
	return isSea || isCompiled ? execPath : undefined;
}

/**
 * The files and URLs of modules from which packages beside this program are looked for, in this order.
 *
 * Beside an executable that contains the program only from there: how it was started says nothing about where it is
 * (`app`, found in `PATH`), and from the working directory another user's package could be loaded.
 *
 * @param module the URL of the module that asks; a bundle that is CommonJS has none.
 */
export function packagePlaces(
	module: string | undefined,
	execution: Execution = thisExecution(),
): readonly string[] {
	const own = ownExecutable(execution);
	const { main } = execution;
	if (own !== undefined) return [own];
	return [module, main].filter(
		(place) =>
			place !== undefined && (place.startsWith("file:") || isAbsolute(place)),
	) as string[];
}
