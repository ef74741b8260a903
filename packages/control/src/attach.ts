import { join } from "node:path";
import { ControlClient } from "./control-client.ts";
import { ControlError } from "./control-error.ts";
import { type FoundRun, findRuns, readRecord } from "./find-runs.ts";
import { SOCKET_NAME } from "./place.ts";

/** Which run is attached to, and how. */
export interface AttachOptions {
	/** Only runs in this data directory; by default, all of this user's runs. */
	readonly dataDir?: string | undefined;
	/** The run's id or a prefix of it; needed if there are several runs. */
	readonly run?: string | undefined;
	/** Who makes the requests, for the program's events; by default, the name and pid of this program. */
	readonly by?: string | undefined;
	/** How long the program may be silent, in milliseconds, before it counts as hung. @default 5 000 ms */
	readonly silentMs?: number | undefined;
}

export const ATTACH_DEFAULTS = { silentMs: 5_000 } as const;

/** What each option may be; returns what is wrong with a value. */
export const ATTACH_CHECKS: Readonly<
	Record<keyof AttachOptions, (value: unknown) => string | undefined>
> = {
	dataDir: aText,
	run: aText,
	by: aText,
	silentMs: (value) =>
		value === undefined || (Number.isSafeInteger(value) && Number(value) > 0)
			? undefined
			: "must be a whole number from 1",
};

function aText(value: unknown): string | undefined {
	return value === undefined || (typeof value === "string" && value !== "")
		? undefined
		: "must be a string that is not empty";
}

/**
 * Finds a living run of this user, and returns a client of it. The client connects with its first request.
 *
 * @throws ControlError `NO_SUCH_RUN` with those that there are; `SEVERAL_RUNS`; `INVALID_OPTION`.
 */
export async function attach(
	options: AttachOptions = {},
): Promise<ControlClient> {
	check(options);
	const { run = "", dataDir } = options;
	const all = await findRuns(dataDir);
	const fitting = all.filter(({ runId }) => runId.startsWith(run));
	const [found] = fitting;
	if (found === undefined) throw noSuchRun(options, all);
	if (fitting.length > 1) throw severalRuns(fitting);
	const record = readRecord(found.directory);
	if (record === undefined) throw noSuchRun(options, all);
	return new ControlClient({
		run: found,
		socketPath: join(found.directory, SOCKET_NAME),
		token: record.token,
		by: options.by ?? `${process.title} (pid ${process.pid})`,
		silentMs: options.silentMs ?? ATTACH_DEFAULTS.silentMs,
	});
}

function check(options: AttachOptions): void {
	for (const [name, value] of Object.entries(options)) {
		const isKnown = Object.hasOwn(ATTACH_CHECKS, name);
		const wrong = isKnown
			? ATTACH_CHECKS[name as keyof AttachOptions](value)
			: `is not an option. Known: ${Object.keys(ATTACH_CHECKS).join(", ")}`;
		if (wrong !== undefined)
			throw new ControlError({
				code: "INVALID_OPTION",
				message: `attach: "${name}" ${wrong}.`,
			});
	}
}

function noSuchRun(
	{ run, dataDir }: AttachOptions,
	all: readonly FoundRun[],
): ControlError {
	const wanted = run === undefined ? "No run" : `No run "${run}"`;
	const where = dataDir === undefined ? "" : ` in ${dataDir}`;
	return new ControlError({
		code: "NO_SUCH_RUN",
		message: `${wanted}${where} can be attached to. ${all.length === 0 ? "There is none. Start a program with control on: set the option control of its run, or SNAKEPIT_CONTROL=1 if NODE_ENV is production." : `There is ${listed(all)}.`}`,
	});
}

function severalRuns(fitting: readonly FoundRun[]): ControlError {
	return new ControlError({
		code: "SEVERAL_RUNS",
		message: `${fitting.length} runs can be attached to: ${listed(fitting)}. Name one: with the option run, or with --run.`,
	});
}

function listed(runs: readonly FoundRun[]): string {
	return runs
		.map(({ runId, program, pid }) => `${runId} (${program}, pid ${pid})`)
		.join(", ");
}
