import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { doctor } from "../../src/inspect/doctor.ts";
import { examine } from "../../src/inspect/doctor-layers.ts";
import type { SnapshotHost } from "../../src/os/descendants.ts";
import { sqlite } from "../cleanup/bench.ts";
import { craftRun, deadOwner } from "../cleanup/crafted-run.ts";
import { machine, temporaryDirectory } from "../cleanup/hosts.ts";

afterEach(() => void vi.unstubAllEnvs());

import { layer, protection } from "./doctor-bench.ts";

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
