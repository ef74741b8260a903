import { expect, test } from "vitest";
import { developmentPython } from "../../scripts/python-environment.ts";
import type { Pace } from "../src/case.ts";
import { cases } from "../src/cases.ts";
import { framedSocket } from "../src/contestants/framed-socket.ts";
import { ourName } from "../src/contestants/ours.ts";
import { runRow } from "../src/row-process.ts";

const pace: Pace = {
	warmUpMs: 1,
	measureMs: 20,
	largestMb: 1,
	mostWorkers: 1,
	soakMs: 100,
};
const setting = {
	pace,
	python: developmentPython(),
	freeThreadedPython: undefined,
	peers: {},
};

test.for([framedSocket.name, ourName("gRPC")])(
	"%s is measured in a process of its own",
	async (rowName) => {
		const outcome = await runRow({ caseName: "small-call", rowName, setting });
		expect(outcome).toEqual({
			kind: "measured",
			figures: {
				p50_us: expect.any(Number),
				p99_us: expect.any(Number),
				host_cpu_us: expect.any(Number),
			},
		});
	},
);

test("a row that cannot be measured says why", async () => {
	const outcome = await runRow({
		caseName: "small-call",
		rowName: "python-shell, JSON lines",
		setting,
	});
	expect(outcome).toEqual({
		kind: "failed",
		problem: "exit 1: Error: python-shell is not installed",
	});
});

test("rows and aims know their figures", () => {
	for (const { name, rows, plot, figures } of cases) {
		expect(new Set(rows.map((row) => row.name)).size, name).toBe(rows.length);
		expect(Object.keys(figures), name).toContain(plot);
	}
});
