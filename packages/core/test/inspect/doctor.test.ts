import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { Adapter } from "../../src/contract/adapter.ts";
import type { LayerReport, Protection } from "../../src/contract/protection.ts";
import { doctor, formatDoctorReport } from "../../src/inspect/doctor.ts";
import {
	examine,
	exitHooks,
	inspectLedger,
	lifeline,
} from "../../src/inspect/doctor-layers.ts";
import type { SnapshotHost } from "../../src/os/descendants.ts";
import type { Sqlite } from "../../src/registry/sqlite.ts";
import { sqlite, start } from "../cleanup/bench.ts";
import { craftRun, deadOwner, workerRow } from "../cleanup/crafted-run.ts";
import { isAlive, machine, temporaryDirectory } from "../cleanup/hosts.ts";

function layer(reports: readonly LayerReport[], name: string): LayerReport {
	const found = reports.find((report) => report.layer === name);
	if (found === undefined) throw new Error(`There is no layer ${name}.`);
	return found;
}

function protection(name: string, inspect: Protection["inspect"]): Protection {
	return {
		name,
		whenUnavailable: "start",
		inspect,
		engage: () => Promise.reject(new Error("the doctor engages nothing")),
	};
}

afterEach(() => void vi.unstubAllEnvs());

test("every layer is reported, in the order in which they act, and the protections that are given", async () => {
	const other: LayerReport = {
		layer: "other",
		status: "unavailable",
		detail: "no Python",
		remedy: "install it",
	};
	const reports = await doctor({
		dataDir: temporaryDirectory(),
		protections: [
			protection("other", async () => other),
			protection("broken", () => Promise.reject("no idea")),
		],
	});
	expect(reports.map((report) => [report.layer, report.status])).toEqual([
		["exit hooks", "active"],
		["lifeline", "available"],
		["guard", process.platform === "linux" ? "available" : "unavailable"],
		["process table", "active"],
		["ledger", "active"],
		["reaper", "active"],
		["auditor", "active"],
		["other", "unavailable"],
		["broken", "unavailable"],
	]);
	expect(layer(reports, "other")).toBe(other);
	expect(layer(reports, "broken").detail).toBe("no idea");
});

test("the lifeline's layer says which workers have one, and what is missing for the others", () => {
	expect(lifeline("linux", "/native")).toMatchObject({
		status: "available",
		detail: expect.stringMatching(/the kernel kills all workers .*\/native/),
	});
	expect(lifeline("linux", undefined)).toMatchObject({
		status: "available",
		detail: expect.stringContaining("the native binary is missing"),
		remedy: expect.stringContaining(`@snakepit/native-linux-${process.arch}`),
	});
	expect(lifeline("darwin", undefined)).toMatchObject({
		status: "available",
		detail: expect.stringContaining("other programs have no lifeline"),
	});
});

test("what the next start would find is counted, and nothing of it is touched", async () => {
	const dataDir = temporaryDirectory();
	const worker = await start("sleeps.sh");
	const dead = await craftRun(dataDir, deadOwner(), {}, (runId) => [
		workerRow(runId, { identity: worker.identity, groupId: worker.groupId }),
	]);
	const stray = await start("sleeps.sh", dead.marker);
	await craftRun(dataDir, machine.self);
	await craftRun(dataDir, deadOwner({ machineId: "another" }));
	await craftRun(dataDir, deadOwner(), { state: "terminated" });
	const damaged = await craftRun(dataDir);
	writeFileSync(damaged.path, "");
	const before = readdirSync(dataDir, { recursive: true }).length;
	const text = layer(await doctor({ dataDir }), "reaper").detail;
	expect(text).toMatch(
		/after 1 dead run with 2 living processes; 1 run is alive, and 2 cannot/,
	);
	expect([worker, stray].map(({ identity }) => isAlive(identity.pid))).toEqual([
		true,
		true,
	]);
	expect(readdirSync(dataDir, { recursive: true }).length).toBe(before);
});

test("a ledger that is not there yet is not made", async () => {
	const dataDir = temporaryDirectory();
	const path = join(dataDir, "deep/below");
	expect(layer(await doctor({ dataDir: path }), "ledger")).toMatchObject({
		status: "available",
		detail: expect.stringContaining(path),
	});
	expect(readdirSync(dataDir)).toEqual([]);
	vi.stubEnv("HOME", dataDir);
	vi.stubEnv("XDG_STATE_HOME", undefined);
	vi.stubEnv("TMPDIR", dataDir);
	const reports = await doctor();
	expect(layer(reports, "ledger")).toMatchObject({ status: "available" });
	expect(layer(reports, "reaper").detail).toContain("after 0 dead runs");
	expect(readdirSync(dataDir)).toEqual([]);
});

test("a ledger that cannot be made or used says why, and what helps", async () => {
	const dataDir = temporaryDirectory();
	const file = join(dataDir, "file");
	writeFileSync(file, "");
	expect(inspectLedger(sqlite, file, undefined)).toMatchObject({
		status: "unavailable",
		remedy: expect.stringContaining("dataDir"),
	});
	expect(inspectLedger(sqlite, undefined, join(file, "x"))).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("cannot be created"),
	});
	// Whatever the permissions of /proc say, and to whom.
	if (existsSync("/proc/self"))
		expect(
			layer(await doctor({ dataDir: "/proc/x/y" }), "ledger"),
		).toMatchObject({
			status: "unavailable",
			detail: expect.stringContaining("no directory can be created in /proc"),
		});
	const refusing: Sqlite = {
		...sqlite,
		open: () => {
			throw Object.assign(new Error("no locks"), { code: "SQLITE_IOERR_LOCK" });
		},
	};
	expect(inspectLedger(refusing, dataDir, undefined)).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("cannot lock (refused)"),
	});
	// Each opens a file of its own: nobody sees the other's lock.
	let opened = 0;
	const forgetful: Sqlite = {
		...sqlite,
		open: (path, options) => {
			const own = `${path}.${opened++}`;
			writeFileSync(own, "");
			return sqlite.open(own, options);
		},
	};
	expect(inspectLedger(forgetful, dataDir, undefined)).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("do not hold"),
	});
	expect(readdirSync(dataDir)).toEqual(["file"]);
});

test("in a thread there are no exit hooks", () => {
	expect(exitHooks(false)).toMatchObject({
		status: "unavailable",
		remedy: expect.stringContaining("main thread"),
	});
});

test("misspelt options are refused", async () => {
	await expect(
		doctor({ datadir: "x" } as unknown as { dataDir: string }),
	).rejects.toMatchObject({ code: "UNKNOWN_OPTION" });
});

test("protections that were not called are refused, such as watchdog without parentheses", async () => {
	const protections = [() => undefined] as unknown as readonly Protection[];
	await expect(doctor({ protections })).rejects.toMatchObject({
		code: "INVALID_OPTION",
		message: expect.stringContaining("for example [watchdog()]"),
	});
});

test("instruments are asked about this program: what they say, or that they could not", async () => {
	const report = { layer: "mine", status: "active", detail: "works" } as const;
	const attach = () => ({ hear: () => {} });
	const layers = await doctor({
		dataDir: temporaryDirectory(),
		instruments: [
			{ attach, inspect: () => report },
			{ attach },
			{
				attach,
				inspect: () => {
					throw new Error("broken");
				},
			},
		],
	});
	expect(layers.slice(-2)).toEqual([
		report,
		{ layer: "instrument", status: "unavailable", detail: "broken" },
	]);
});

test("an instrument that never answers is not waited for", async () => {
	const timeout = vi
		.spyOn(AbortSignal, "timeout")
		.mockReturnValue(AbortSignal.abort(new Error("ten seconds are over")));
	const layers = await doctor({
		dataDir: temporaryDirectory(),
		instruments: [
			{
				attach: () => ({ hear: () => {} }),
				inspect: () => new Promise(() => {}),
			},
		],
	});
	expect(timeout).toHaveBeenCalledWith(10_000);
	timeout.mockRestore();
	expect(layers.at(-1)).toEqual({
		layer: "instrument",
		status: "unavailable",
		detail: "ten seconds are over",
	});
});

test("adapters are asked about this machine: what they say, or that they could not", async () => {
	const report = { layer: "a", status: "available", detail: "works" } as const;
	const adapter = { launch: never, connect: never };
	const layers = await doctor({
		dataDir: temporaryDirectory(),
		adapters: [
			{ ...adapter, name: "a", inspect: async () => report },
			{ ...adapter, name: "b" },
			{
				...adapter,
				name: "c",
				inspect: async () => {
					throw new Error("broken");
				},
			},
		],
	});
	expect(layers.slice(-2)).toEqual([
		report,
		{ layer: "c", status: "unavailable", detail: "broken" },
	]);
	await expect(doctor({ adapters: [{} as Adapter] })).rejects.toMatchObject({
		code: "INVALID_OPTION",
	});
});

function never(): never {
	throw new Error("No worker is started.");
}

test("the report is written in columns, what helps below", () => {
	expect(formatDoctorReport([])).toBe("");
	expect(
		formatDoctorReport([
			{ layer: "ledger", status: "active", detail: "is there" },
			{
				layer: "other",
				status: "unavailable",
				detail: "no Python",
				remedy: "install it",
			},
		]),
	).toBe(
		[
			"ledger  active       is there",
			"other   unavailable  no Python",
			"                     What helps: install it",
			"",
		].join("\n"),
	);
});

afterEach(() => void vi.unstubAllEnvs());

const unreadable = new Error("/proc cannot be read");

/** This machine, but for what is given. */
function machineWith(other: Partial<SnapshotHost>): SnapshotHost {
	return new Proxy(machine, {
		get: (host, name) => {
			const own = Reflect.get(other, name) ?? Reflect.get(host, name, host);
			return typeof own === "function" ? own.bind(host) : own;
		},
	});
}

test.each([
	{ when: "there is none for this system", machine: unreadable },
	{
		when: "it cannot be read",
		machine: machineWith({
			snapshot: () => {
				throw unreadable;
			},
		}),
	},
])(
	"without a process table, since $when, what needs it says so, and the rest works",
	async ({ machine: without }) => {
		const asked = protection("other", async () => ({
			layer: "other",
			status: "available",
			detail: "can work",
		}));
		const reports = await examine(without, sqlite, temporaryDirectory(), [
			asked,
		]);
		expect(reports.map(({ layer, status }) => [layer, status])).toEqual([
			["exit hooks", "active"],
			["lifeline", "available"],
			["guard", process.platform === "linux" ? "available" : "unavailable"],
			["process table", "unavailable"],
			["ledger", "unavailable"],
			["reaper", "unavailable"],
			["auditor", "unavailable"],
			["other", "available"],
		]);
		expect(layer(reports, "process table").detail).toBe(unreadable.message);
		for (const name of ["ledger", "reaper", "auditor"])
			expect(layer(reports, name).detail).toBe("needs the process table");
	},
);

test("without its database the ledger is not there, nor who reads it", async () => {
	const missing = new Error("better-sqlite3 is not built for this machine");
	const reports = await examine(machine, missing, temporaryDirectory(), []);
	for (const name of ["ledger", "reaper"])
		expect(layer(reports, name)).toEqual({
			layer: name,
			status: "unavailable",
			detail: missing.message,
		});
	expect(layer(reports, "auditor").status).toBe("active");
});

test("owners that cannot be looked at take the reaper away alone", async () => {
	const dataDir = temporaryDirectory();
	await craftRun(dataDir, deadOwner());
	const without = machineWith({
		observe: () => {
			throw unreadable;
		},
	});
	const reports = await examine(without, sqlite, dataDir, []);
	expect(layer(reports, "ledger").status).toBe("active");
	expect(layer(reports, "reaper")).toMatchObject({
		status: "unavailable",
		detail: unreadable.message,
	});
});

test("a place for sockets that is not safe takes the lifeline away", async () => {
	const base = temporaryDirectory();
	mkdirSync(join(base, "open"));
	chmodSync(join(base, "open"), 0o777);
	vi.stubEnv("XDG_RUNTIME_DIR", join(base, "open"));
	expect(layer(await doctor({ dataDir: base }), "lifeline")).toMatchObject({
		status: "unavailable",
		detail: expect.stringContaining("can be written by others"),
	});
});
