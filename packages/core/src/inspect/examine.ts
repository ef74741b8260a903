import type { Adapter } from "../contract/adapter.ts";
import type { Instrument } from "../contract/instrument.ts";
import type { LayerReport, Protection } from "../contract/protection.ts";
import { counted } from "../contract/text.ts";
import { asError } from "../contract/thrown.ts";
import { guardLayer } from "../guard/guard-layer.ts";
import type { CensusHost } from "../os/census.ts";
import { hidesProcesses } from "../os/linux-proc.ts";
import { nativeBinary } from "../os/native-binary.ts";
import { placeForRunDirectories } from "../os/private-directory.ts";
import { processEvents } from "../os/process-events.ts";
import { findStateDirectory } from "../os/state-directory.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import { AUDIT_DEFAULTS } from "../run/run-option-groups.ts";
import { NOTHING_FOUND } from "./find-dead-runs.ts";
import { inspectLedger } from "./ledger-report.ts";
import { lookAsReaper } from "./look-as-reaper.ts";
import { reaperReport } from "./reaper-report.ts";

/** Reports the state of every layer, of a machine and a database that may not be usable. */
export async function examine(
	machine: CensusHost | Error,
	sqlite: Sqlite | Error,
	dataDir: string | undefined,
	protections: readonly Protection[],
): Promise<readonly LayerReport[]> {
	const table = processTable(machine);
	const host =
		machine instanceof Error || table.status === "unavailable"
			? undefined
			: machine;
	const binary = nativeBinary();
	return [
		exitHooks(processEvents.mainThread),
		lifeline(process.platform, binary),
		await guard(binary),
		table,
		...ledgerAndReaper(sqlite, host, dataDir),
		auditor(host),
		...(await Promise.all(protections.map(inspect))),
	];
}

export function exitHooks(mainThread: boolean): LayerReport {
	return mainThread
		? {
				layer: "exit hooks",
				status: "active",
				detail:
					"this program ends its workers on SIGINT, SIGTERM, SIGHUP, an uncaught error and every other exit",
			}
		: {
				layer: "exit hooks",
				status: "unavailable",
				detail:
					"this is a worker thread: it receives no signals, and its exit does not end the program",
				remedy: "Create pools in the main thread.",
			};
}

/** Whom the death of this program ends at once, with and without the native binary. */
export function lifeline(
	platform: NodeJS.Platform,
	binary: string | undefined,
): LayerReport {
	const place = attempt(() => placeForRunDirectories());
	if (place instanceof Error) return unavailable("lifeline", place);
	const report = { layer: "lifeline", status: "available" } as const;
	const sockets = `sockets are in ${place}`;
	if (platform !== "linux")
		return {
			...report,
			detail: `a Python worker watches its lifeline in a thread, which cannot run while a call holds the interpreter's lock; other programs have no lifeline; ${sockets}`,
		};
	if (binary === undefined)
		return {
			...report,
			detail: `when this program dies, the kernel kills Python workers, but no other programs, because the native binary is missing; ${sockets}`,
			remedy: `Install @snakepit/core with its optional packages, or @snakepit/native-linux-${process.arch} where this program runs, on a file system from which programs may be executed. There are binaries for x64 and arm64.`,
		};
	return {
		...report,
		detail: `when this program dies, the kernel kills all workers and their process groups; ${binary} starts programs other than Python; ${sockets}`,
	};
}

function processTable(machine: CensusHost | Error): LayerReport {
	const layer = "process table";
	if (machine instanceof Error) return unavailable(layer, machine);
	const census = attempt(() => machine.census());
	if (census instanceof Error) return unavailable(layer, census);
	const visible = `${counted(census.processes.length, "process is", "processes are")} visible, ${census.marked.length} of them with a Snakepit marker`;
	const report = { layer, status: "active", detail: visible } as const;
	if (!hidesProcesses()) return report;
	return {
		...report,
		detail: `${visible}; /proc is mounted with hidepid, so processes of other users, set-user-ID programs and programs that forbid tracing cannot be seen. The guard kills those below it all the same; the watchdog, the auditor and the next start do not, and a pool cannot signal such a worker`,
		remedy:
			"Mount /proc with hidepid=0, or with gid= and a group of this user.",
	};
}

function ledgerAndReaper(
	sqlite: Sqlite | Error,
	host: CensusHost | undefined,
	dataDir: string | undefined,
): readonly LayerReport[] {
	if (sqlite instanceof Error)
		return [unavailable("ledger", sqlite), unavailable("reaper", sqlite)];
	if (host === undefined)
		return ["ledger", "reaper"].map((layer) => withoutTable(layer));
	const path = findStateDirectory(dataDir, host.self.machineId);
	const ledger = inspectLedger(sqlite, path, dataDir);
	if (path === undefined) return [ledger, reaperReport(NOTHING_FOUND)];
	const findings = attempt(() =>
		lookAsReaper(sqlite, new LedgerDirectory(path, "look"), host),
	);
	return [
		ledger,
		findings instanceof Error
			? unavailable("reaper", findings)
			: reaperReport(findings),
	];
}

function auditor(host: CensusHost | undefined): LayerReport {
	if (host === undefined) return withoutTable("auditor");
	return {
		layer: "auditor",
		status: "active",
		detail: `looks for strays of running pools every ${AUDIT_DEFAULTS.intervalMs.value / 1000} s, or every audit.intervalMs if it is set`,
	};
}

async function guard(binary: string | undefined): Promise<LayerReport> {
	try {
		return await guardLayer(binary);
	} catch (error) {
		return unavailable("guard", asError(error));
	}
}

async function inspect(protection: Protection): Promise<LayerReport> {
	try {
		return await protection.inspect();
	} catch (error) {
		return unavailable(protection.name, asError(error));
	}
}

/** The report of one adapter; empty when it has nothing to report. */
export async function inspectAdapter(
	adapter: Adapter,
): Promise<readonly LayerReport[]> {
	try {
		const report = await adapter.inspect?.();
		return report === undefined ? [] : [report];
	} catch (error) {
		return [unavailable(adapter.name, asError(error))];
	}
}

/** The report of one instrument; empty when it has nothing to report. */
export function inspectInstrument(
	instrument: Instrument,
): readonly LayerReport[] {
	const report = attempt(() => instrument.inspect?.());
	if (report instanceof Error) return [unavailable("instrument", report)];
	return report === undefined ? [] : [report];
}

function withoutTable(layer: string): LayerReport {
	return {
		layer,
		status: "unavailable",
		detail: "needs the process table",
	};
}

function unavailable(layer: string, { message }: Error): LayerReport {
	return { layer, status: "unavailable", detail: message };
}

export function attempt<Value>(look: () => Value): Value | Error {
	try {
		return look();
	} catch (error) {
		return asError(error);
	}
}
