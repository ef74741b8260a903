// Apart from doctor.ts, whose types are exported: those of the ledger lead to Drizzle's, which users do not have.
import {
	accessSync,
	constants,
	existsSync,
	mkdtempSync,
	rmdirSync,
	rmSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Adapter } from "../contract/adapter.ts";
import type { Instrument } from "../contract/instrument.ts";
import type { LayerReport, Protection } from "../contract/protection.ts";
import { counted } from "../contract/text.ts";
import { asError } from "../contract/thrown.ts";
import { absolutePath } from "../contract/working-directory.ts";
import { abortable } from "../deadline.ts";
import { guardLayer } from "../guard/guard-chain.ts";
import type { SnapshotHost } from "../os/descendants.ts";
import { nativeBinary } from "../os/launcher.ts";
import { runDirectoryBase } from "../os/private-directory.ts";
import { hidesProcesses } from "../os/process-table.ts";
import { findStateDirectory } from "../os/state-directory.ts";
import { processEvents } from "../os/this-program.ts";
import { LedgerDirectory } from "../registry/ledger-directory.ts";
import { createLock, RunLock, takeLock } from "../registry/run-lock.ts";
import type { Sqlite } from "../registry/sqlite.ts";
import { AUDIT_DEFAULTS } from "../run/run-options.ts";
import type { ReaperFindings } from "./dead-runs.ts";
import { lookAsReaper, NOTHING_FOUND } from "./look-as-reaper.ts";

/** Reports the state of every layer, of a machine and a database that may not be usable. */
export async function examine(
	machine: SnapshotHost | Error,
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
		...(await ledgerAndReaper(sqlite, host, dataDir)),
		auditor(host),
		...(await Promise.all(protections.map(inspect))),
	];
}

/** How long an instrument may take to say what it finds. */
const INSPECT_MS = 10_000;

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

/** Which processes end with this program, with and without the native binary. */
export function lifeline(
	platform: NodeJS.Platform,
	binary: string | undefined,
): LayerReport {
	const base = attempt(() => runDirectoryBase());
	if (base instanceof Error) return unavailable("lifeline", base);
	const report = { layer: "lifeline", status: "available" } as const;
	const sockets = `sockets are in ${base}`;
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

function processTable(machine: SnapshotHost | Error): LayerReport {
	const layer = "process table";
	if (machine instanceof Error) return unavailable(layer, machine);
	const snapshot = attempt(() => machine.snapshot());
	if (snapshot instanceof Error) return unavailable(layer, snapshot);
	const visible = `${counted(snapshot.processes.length, "process is", "processes are")} visible, ${snapshot.marked.length} of them with a Snakepit marker`;
	const report = { layer, status: "active", detail: visible } as const;
	if (!hidesProcesses()) return report;
	return {
		...report,
		detail: `${visible}; /proc is mounted with hidepid, so processes of other users, set-user-ID programs and programs that forbid tracing cannot be seen. The guard kills those below it all the same; the watchdog, the auditor and the next start do not, and a pool cannot signal such a worker`,
		remedy:
			"Mount /proc with hidepid=0, or with gid= and a group of this user.",
	};
}

async function ledgerAndReaper(
	sqlite: Sqlite | Error,
	host: SnapshotHost | undefined,
	dataDir: string | undefined,
): Promise<readonly LayerReport[]> {
	if (sqlite instanceof Error)
		return [unavailable("ledger", sqlite), unavailable("reaper", sqlite)];
	if (host === undefined)
		return ["ledger", "reaper"].map((layer) => withoutTable(layer));
	const path = findStateDirectory(dataDir, host.self.machineId);
	const ledger = inspectLedger(sqlite, path, dataDir);
	if (path === undefined) return [ledger, reaperReport(NOTHING_FOUND)];
	const directory = new LedgerDirectory(path, "look");
	const findings = await lookAsReaper(
		async () => sqlite,
		directory,
		host,
	).catch(asError);
	return [
		ledger,
		findings instanceof Error
			? unavailable("reaper", findings)
			: reaperReport(findings),
	];
}

function auditor(host: SnapshotHost | undefined): LayerReport {
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
export async function inspectInstrument(
	instrument: Instrument,
): Promise<readonly LayerReport[]> {
	try {
		const report = await abortable(
			Promise.resolve(instrument.inspect?.()),
			AbortSignal.timeout(INSPECT_MS),
		);
		return report === undefined ? [] : [report];
	} catch (error) {
		return [unavailable("instrument", asError(error))];
	}
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

const LAYER = "ledger";
const ELSEWHERE =
	"Name a directory of your own on a local disk with the option dataDir.";

/**
 * Looks whether the ledger can be used where it is, or where it would be made.
 *
 * @param path `undefined` when there is none yet.
 */
export function inspectLedger(
	sqlite: Sqlite,
	path: string | undefined,
	dataDir: string | undefined,
): LayerReport {
	if (path !== undefined) return inspectExisting(sqlite, path);
	if (dataDir === undefined)
		return {
			layer: LAYER,
			status: "available",
			detail: "does not exist yet; the first pool creates it",
		};
	const nearest = nearestExisting(absolutePath(dataDir, "The directory"));
	const problem = creationProblem(nearest);
	return problem === undefined
		? {
				layer: LAYER,
				status: "available",
				detail: `does not exist yet; the first pool creates it in ${dataDir}`,
			}
		: unusable(`${dataDir} cannot be created: ${problem}`);
}

function inspectExisting(sqlite: Sqlite, path: string): LayerReport {
	const problem = writeProblem(path) ?? lockProblem(sqlite, path);
	return problem === undefined
		? {
				layer: LAYER,
				status: "active",
				detail: `every worker is recorded in ${path} before it starts`,
			}
		: unusable(problem);
}

function unusable(detail: string): LayerReport {
	return { layer: LAYER, status: "unavailable", detail, remedy: ELSEWHERE };
}

function nearestExisting(path: string): string {
	return existsSync(path) ? path : nearestExisting(dirname(path));
}

function writeProblem(path: string): string | undefined {
	try {
		accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
		return undefined;
	} catch (error) {
		return `${path} cannot be written (${(error as Error).message})`;
	}
}

/** Makes and removes a directory in it: permissions alone do not show whether that is possible. */
function creationProblem(path: string): string | undefined {
	try {
		rmdirSync(mkdtempSync(join(path, ".doctor-")));
		return undefined;
	} catch (error) {
		return `no directory can be created in ${path} (${(error as Error).message})`;
	}
}

/** Checks in a temporary directory whether a lock is exclusive. */
function lockProblem(sqlite: Sqlite, path: string): string | undefined {
	let probe: string | undefined;
	try {
		probe = mkdtempSync(join(path, ".doctor-"));
		const lockPath = join(probe, "probe.lock");
		const lock = createLock(sqlite, lockPath);
		if (!(lock instanceof RunLock))
			return `${path} is on a file system that cannot lock (${lock})`;
		const second = takeLock(sqlite, lockPath);
		if (second instanceof RunLock) second.release("kept");
		lock.release("removed");
		return second === "held"
			? undefined
			: `${path} is on a file system whose locks do not hold`;
	} catch (error) {
		return `${path} cannot be used (${(error as Error).message})`;
	} finally {
		if (probe !== undefined) rmSync(probe, { recursive: true, force: true });
	}
}

/** The layer of the doctor that reports what the next start of a program would meet. */
function reaperReport(findings: ReaperFindings): LayerReport {
	const { living, dead, unclear } = findings;
	const orphans = dead.flatMap((run) => run.orphans).length;
	return {
		layer: "reaper",
		status: "active",
		detail: `the next start would clean up after ${counted(dead.length, "dead run", "dead runs")} with ${counted(orphans, "living process", "living processes")}; ${counted(living.length, "run is", "runs are")} alive, and ${unclear.length} cannot be checked from here`,
	};
}
