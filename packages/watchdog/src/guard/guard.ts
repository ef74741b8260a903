import {
	type Check,
	checkOptions,
	nonEmptyText,
	oneOf,
	optional,
} from "@snakepit/core/options";
import type {
	Engagement,
	LayerReport,
	Protection,
	ProtectionContext,
} from "@snakepit/core/protection";
import { GuardSource } from "./guard-source.ts";
import {
	findGuardPython,
	type GuardPython,
	GuardUnavailable,
	guardProgram,
} from "./python-interpreter.ts";

/** Options of a guard. */
export interface GuardOptions {
	/** The Python that runs the guard, 3.10 or newer: a path, or a name in PATH; by default `python3`, then `python`. It needs no packages, and need not be that of the workers. */
	readonly python?: string | undefined;
	/** What happens where no guard can work: `"start"`, the run opens without one, with the event `protection.unavailable`; `"refuse"`, `openRun` and `createPool` throw `PROTECTION_UNAVAILABLE`. @default "start" */
	readonly whenUnavailable?: "start" | "refuse" | undefined;
}

/** The defaults, and why. */
export const GUARD_DEFAULTS = {
	whenUnavailable: {
		value: "start",
		reason: "a protection is no reason not to work",
	},
} as const;

export const GUARD_CHECKS: Readonly<Record<keyof GuardOptions, Check>> = {
	python: optional(nonEmptyText),
	whenUnavailable: optional(oneOf("start", "refuse")),
};

const COVERS =
	"ends every descendant of a worker with the host, also one that left its group and session and carries no marker";

/**
 * Makes the guard the parent of the workers: a chain of small processes from
 * which they are forked, so that no descendant of a worker outlives the host,
 * also if it leaves its group and clears its environment.
 *
 * `openRun({ protections: [guard()] })`, or `createPool`. If it cannot work the
 * run opens without it, with the event `protection.unavailable`; with
 * `whenUnavailable: "refuse"` that throws StartError `PROTECTION_UNAVAILABLE`.
 *
 * Linux, with Python 3.10 or newer. One chain serves every pool of a run.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function guard(options: GuardOptions = {}): Protection {
	checkOptions("guard", options, GUARD_CHECKS);
	const find = async (): Promise<GuardPython> => {
		if (process.platform !== "linux")
			throw new GuardUnavailable(
				`The guard is made of what Linux offers; this is ${process.platform}.`,
				"Use the watchdog, which works here.",
			);
		return findGuardPython(options.python, guardProgram(), process.env);
	};
	return {
		name: "guard",
		whenUnavailable:
			options.whenUnavailable ?? GUARD_DEFAULTS.whenUnavailable.value,
		settings: { python: options.python },
		inspect: () => inspect(find),
		engage: async (context) => await engage(context, await find()),
	};
}

async function inspect(find: () => Promise<GuardPython>): Promise<LayerReport> {
	try {
		const { executable, version } = await find();
		return {
			layer: "guard",
			status: "available",
			detail: `${COVERS} (Python ${version}, ${executable})`,
		};
	} catch (error) {
		const known = error instanceof GuardUnavailable;
		return {
			layer: "guard",
			status: "unavailable",
			detail: known ? error.reason : String(error),
			...(known ? { remedy: error.remedy } : {}),
		};
	}
}

async function engage(
	context: ProtectionContext,
	python: GuardPython,
): Promise<Engagement> {
	const source = new GuardSource(context, python);
	await source.chain();
	return { source, release: () => source.release() };
}
