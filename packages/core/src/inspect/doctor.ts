import type { Adapter } from "../contract/adapter.ts";
import type { Instrument } from "../contract/instrument.ts";
import type { LayerReport, Protection } from "../contract/protection.ts";
import { asError } from "../contract/thrown.ts";
import { type Check, checkOptions, optional } from "../options/check.ts";
import { POOL_CHECKS } from "../options/resolve-pool-options.ts";
import { assertPlatform, thisMachine } from "../os/this-machine.ts";
import { loadSqlite } from "../registry/sqlite.ts";
import { RUN_CHECKS } from "../run/run-options.ts";
import {
	attempt,
	examine,
	inspectAdapter,
	inspectInstrument,
} from "./doctor-layers.ts";

/** What is examined. */
export interface DoctorOptions {
	/** Where the ledger is; by default, in the user's state directory. */
	readonly dataDir?: string | undefined;
	/** The adapters that pools would use; each is asked about this machine if it supports that. */
	readonly adapters?: readonly Adapter[] | undefined;
	/** The protections that a run would use; each is asked about this machine. */
	readonly protections?: readonly Protection[] | undefined;
	/** The instruments that a pool would use, such as `telemetry()`; each is asked about this program. */
	readonly instruments?: readonly Instrument[] | undefined;
}

export const DOCTOR_CHECKS: Readonly<Record<keyof DoctorOptions, Check>> = {
	dataDir: RUN_CHECKS.dataDir,
	adapters: optional((value) =>
		Array.isArray(value) &&
		value.every((each) => POOL_CHECKS.adapter(each) === undefined)
			? undefined
			: "must be an array of adapters",
	),
	protections: RUN_CHECKS.protections,
	instruments: POOL_CHECKS.instruments,
};

/**
 * Reports which layers of protection work on this machine and why one does not.
 *
 * Touches no process and no run, and leaves nothing behind; what cannot be
 * found out is a layer that is unavailable, with the reason.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
 */
export async function doctor(
	options: DoctorOptions = {},
): Promise<readonly LayerReport[]> {
	const {
		dataDir,
		adapters = [],
		protections = [],
		instruments = [],
	} = options;
	checkOptions("doctor", options, DOCTOR_CHECKS);
	const machine = attempt(() => {
		assertPlatform(process.platform);
		return thisMachine();
	});
	const sqlite = await loadSqlite().catch(asError);
	return [
		...(await examine(machine, sqlite, dataDir, protections)),
		...(await Promise.all(adapters.map(inspectAdapter))).flat(),
		...(await Promise.all(instruments.map(inspectInstrument))).flat(),
	];
}

/** Writes a report of `doctor` as text for people: one layer a paragraph, what would help below it. */
export function formatDoctorReport(layers: readonly LayerReport[]): string {
	const name = widest(layers.map(({ layer }) => layer));
	const state = widest(layers.map(({ status }) => status));
	return layers
		.map(({ layer, status, detail, remedy }) => {
			const line = `${layer.padEnd(name)}  ${status.padEnd(state)}  ${detail}\n`;
			return remedy === undefined
				? line
				: `${line}${" ".repeat(name + state + 4)}What helps: ${remedy}\n`;
		})
		.join("");
}

function widest(texts: readonly string[]): number {
	return Math.max(0, ...texts.map(({ length }) => length));
}
