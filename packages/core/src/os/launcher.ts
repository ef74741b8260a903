import { accessSync, constants } from "node:fs";
import nodeModule from "node:module";
import type { Duplex } from "node:stream";
import { StartError } from "../contract/errors.ts";
import { withFallback } from "../contract/thrown.ts";
import type { ProcessSpec, StartedProcess } from "../contract/world.ts";
import { spawnFailed, systemError } from "./spawn-failure.ts";
import { packageOrigins } from "./this-program.ts";

// Not `createRequire` by name: webpack would resolve what it is given when it builds.

const PACKAGES: Readonly<Record<string, string>> = {
	"linux-arm64": "@snakepit/native-linux-arm64",
	"linux-x64": "@snakepit/native-linux-x64",
};

/** For what system, and from where. */
interface NativeLookup {
	readonly platform: string;
	readonly architecture: string;
	/** Files and URLs of modules whose `node_modules` are searched, in this order. */
	readonly from: readonly string[];
}

/**
 * The path of the native binary; `undefined` where there is none: on another system, in an install without optional
 * packages, beside a bundle without them, or on a file system from which nothing may be executed.
 */
export function nativeBinary({
	platform = process.platform,
	architecture = process.arch,
	from = packageOrigins(import.meta.url),
}: Partial<NativeLookup> = {}): string | undefined {
	const name = PACKAGES[`${platform}-${architecture}`];
	if (name === undefined) return undefined;
	for (const module of from) {
		try {
			const path = nodeModule
				.createRequire(module)
				.resolve(`${name}/bin/snakepit-native`);
			if (isExecutable(path)) return path;
		} catch {
			// Not installed there: the next place may have it.
		}
	}
	return undefined;
}

/** Looks for it once, which takes a millisecond, and from then on whether it is still there. */
export function rememberedBinary(): () => string | undefined {
	let lookup: { readonly path: string | undefined } | undefined;
	return () => {
		lookup ??= { path: nativeBinary() };
		const { path } = lookup;
		return path !== undefined && isExecutable(path) ? path : undefined;
	};
}

function isExecutable(path: string): boolean {
	return withFallback(false, () => {
		accessSync(path, constants.X_OK);
		return true;
	});
}

const CONTROL = 3;
/** `STATUS ERRNO`; native/README.md. */
const REFUSAL = /^(\d+) (\d+)$/m;
/** `lFD PORT`. */
const PORT = /^l(\d+) (\d+)$/gm;
const NOT_EXECUTED: readonly number[] = [126, 127];
const NOT_LISTENING = 73;

/** What the system is asked to execute: the program, or the launcher that ties it to the lifeline and becomes it. */
export function commandOf(
	spec: ProcessSpec,
): Pick<ProcessSpec, "executable" | "args"> {
	const { executable, args, launcher } = spec;
	if (launcher === undefined) return { executable, args };
	return {
		executable: launcher.binary,
		args: [
			...["lifeline", launcher.lifeline, "--report", String(reportOf(spec))],
			...listenersOf(spec),
			...["--", executable, ...args],
		],
	};
}

function listenersOf({ descriptors = new Map() }: ProcessSpec): string[] {
	return [...descriptors].flatMap(([fd, what]) =>
		what === "stream" || "fd" in what
			? []
			: ["--listen", String(fd), what.path ?? ""],
	);
}

/** Where the launcher reports: above what the program finds open. It closes it when the program is executed. */
function reportOf({ descriptors }: ProcessSpec): number {
	return 1 + Math.max(CONTROL - 1, ...(descriptors?.keys() ?? []));
}

/** Which descriptor of the process is the control channel, or the launcher's; `undefined` where there is neither. */
export function channelNumber(spec: ProcessSpec): number | undefined {
	if (spec.launcher !== undefined) return reportOf(spec);
	return spec.control ? CONTROL : undefined;
}

/** What the connection at that descriptor is. */
export function channelOf(
	spec: ProcessSpec,
	channel: Duplex | undefined,
): Pick<StartedProcess, "control" | "executed"> {
	if (channel === undefined || spec.launcher === undefined)
		return { control: channel, executed: undefined };
	const executed = whenExecuted(spec, channel);
	executed.catch(() => {}); // A start that has been given up does not ask.
	return { control: undefined, executed };
}

async function whenExecuted(
	spec: ProcessSpec,
	report: Duplex,
): Promise<ReadonlyMap<number, number>> {
	let text = "";
	try {
		for await (const chunk of report) text += chunk;
	} catch {
		// The process was killed: its exit says so.
	}
	const [, status, errno] = REFUSAL.exec(text) ?? [];
	if (status === undefined)
		return new Map(
			[...text.matchAll(PORT)].map(([, fd, port]) => [
				Number(fd),
				Number(port),
			]),
		);
	const cause = systemError(Number(errno), spec.executable);
	throw NOT_EXECUTED.includes(Number(status))
		? spawnFailed(cause, spec)
		: notTied(cause, spec, Number(status));
}

function notTied(
	cause: NodeJS.ErrnoException,
	{ executable }: ProcessSpec,
	status: number,
): StartError {
	const why =
		status === NOT_LISTENING
			? `a socket that launch() asks for cannot listen (${cause.code}).`
			: `this system cannot give it a lifeline (${cause.code}). To start it without one, return lifeline: "off" from the adapter's launch().`;
	return new StartError({
		code: "SPAWN_FAILED",
		message: `Cannot start ${executable}: ${why}`,
		cause,
	});
}
