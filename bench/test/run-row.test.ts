import { expect, test } from "vitest";
import { developmentPython } from "../../scripts/python-environment.ts";
import { cases } from "../src/cases.ts";
import { framedSocket } from "../src/contestants/limits.ts";
import { ourName } from "../src/contestants/ours.ts";
import { runRow } from "../src/run.ts";

const setting = {
	pace: {
		...{ warmUpMs: 1, measureMs: 20, soakMs: 100 },
		...{ largestMb: 1, mostWorkers: 1 },
	},
	python: developmentPython(),
	freeThreadedPython: undefined,
	peers: {},
};

test.for([framedSocket.name, ourName("gRPC")])(
	"%s is measured in a process of its own",
	async (rowName) => {
		const outcome = await runRow({ caseName: "small-call", rowName, setting });
		expect(outcome).toEqual({
			p50_us: expect.any(Number),
			p99_us: expect.any(Number),
			host_cpu_us: expect.any(Number),
		});
	},
);

test("a row that cannot be measured says why", async () => {
	const rowName = "python-shell, JSON lines";
	const outcome = await runRow({ caseName: "small-call", rowName, setting });
	expect(outcome).toEqual(
		new Error("exit 1: Error: python-shell is not installed"),
	);
});

test("the rows of a case have different names", () => {
	for (const { name, rows } of cases)
		expect(new Set(rows.map((row) => row.name)).size, name).toBe(rows.length);
});
