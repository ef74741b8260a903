import {
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import type {
	Engagement,
	LayerReport,
	Protection,
	ProtectionContext,
} from "@snakepit/core/protection";
import { ProtectionUnavailable } from "../own-file.ts";
import { GuardSource } from "./guard-source.ts";
import { guardProgram, inspectGuard } from "./native-guard.ts";

/** Options of a guard. */
export interface GuardOptions {
	/**
	 * What happens if no guard can work: `"start"`, the run opens without one, with the event `protection.unavailable`;
	 * `"refuse"`, `openRun` and `createPool` throw `PROTECTION_UNAVAILABLE`.
	 * @default "start"
	 */
	readonly whenUnavailable?: "start" | "refuse" | undefined;
}

/** The defaults, and why. */
export const GUARD_DEFAULTS = {
	whenUnavailable: {
		value: "start",
		reason: "a missing protection should not keep a program from working",
	},
} as const;

export const GUARD_CHECKS: Readonly<Record<keyof GuardOptions, Check>> = {
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
 * Linux on x64 and arm64. One chain serves every pool of a run.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function guard(options: GuardOptions = {}): Protection {
	checkOptions("guard", options, GUARD_CHECKS);
	return {
		name: "guard",
		whenUnavailable:
			options.whenUnavailable ?? GUARD_DEFAULTS.whenUnavailable.value,
		settings: {},
		inspect,
		engage,
	};
}

async function inspect(): Promise<LayerReport> {
	try {
		const program = guardProgram();
		await inspectGuard(program);
		return {
			layer: "guard",
			status: "available",
			detail: `${COVERS} (${program})`,
		};
	} catch (error) {
		const known = error instanceof ProtectionUnavailable;
		return {
			layer: "guard",
			status: "unavailable",
			detail: known ? error.reason : String(error),
			...(known ? { remedy: error.remedy } : {}),
		};
	}
}

async function engage(context: ProtectionContext): Promise<Engagement> {
	const source = new GuardSource(context, guardProgram());
	await source.chain();
	return { source, release: () => source.release() };
}
