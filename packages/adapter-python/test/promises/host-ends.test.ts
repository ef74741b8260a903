import { expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import {
	freshDirectory,
	SOON_MS,
	startHost,
	untilNothingIsLeft,
} from "./host-process.ts";

const program = new URL("./ending-host.ts", import.meta.url);
const LONG = { timeout: 120_000 };

interface End {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

function start(ending: string) {
	const host = startHost(program, { dataDir: freshDirectory(), ending });
	const end = new Promise<End>((resolve) =>
		host.child.once("exit", (code, signal) => resolve({ code, signal })),
	);
	return { host, end };
}

// Each signal and ending has its test with other workers in packages/core/test/run/signals.test.ts.
test.each(
	rows(
		[
			["exit", { code: 7, signal: null }],
			["exit with a stray", { code: 7, signal: null }],
			["throws", { code: 1, signal: null }],
			["rejects", { code: 1, signal: null }],
			["script", { code: 0, signal: null }],
			["failing script", { code: 1, signal: null }],
		],
		([ending]) => ["exit with a stray", "throws", "script"].includes(ending),
	),
)(
	'a program that ends by "%s" keeps its exit code and leaves nothing',
	LONG,
	async (ending, expected) => {
		const { host, end } = start(ending);
		const runId = (await host.reported("runId")) as string;
		expect(await end).toEqual(expected);
		await untilNothingIsLeft(runId, SOON_MS);
	},
);

test.each(
	rows(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => signal === "SIGINT"),
)(
	"%s ends workers and program, and the program is seen to have died of it",
	LONG,
	async (signal) => {
		const { host, end } = start("stays");
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		host.child.kill(signal);
		expect(await end).toEqual({ code: null, signal });
		await untilNothingIsLeft(runId, SOON_MS);
		expect(host.all("ended")).toEqual([true]);
	},
);

test(
	"a pool that is left to a program that listens still takes calls after the signal, until the program closes it",
	LONG,
	async () => {
		const { host, end } = start("closes its pool itself");
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		host.child.kill("SIGTERM");
		expect(await host.reported("answer")).toEqual(expect.any(Number));
		expect(await end).toEqual({ code: 0, signal: null });
		await untilNothingIsLeft(runId, SOON_MS);
		expect(host.all("ended")).toEqual([true]);
	},
);

test(
	"a second signal does not wait for what the first one is waiting for",
	LONG,
	async () => {
		const { host, end } = start("busy");
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		host.child.kill("SIGINT");
		host.child.kill("SIGTERM");
		expect(await end).toMatchObject({ code: null });
		await untilNothingIsLeft(runId, SOON_MS);
	},
);

test(
	"a program whose pool is idle ends in order, not by the sword, and leaves nothing",
	LONG,
	async () => {
		const { host, end } = start("idle");
		const runId = (await host.reported("runId")) as string;
		expect(await end).toEqual({ code: 0, signal: null });
		await untilNothingIsLeft(runId, SOON_MS);
		expect(host.all("ended")).toEqual([true]);
	},
);

test.each(rows(["SIGTERM", "SIGHUP"], (signal) => signal === "SIGHUP"))(
	"%s while the program awaits a call is what the program dies of, not the call's error",
	LONG,
	async (signal) => {
		const { host, end } = start("busy");
		const runId = (await host.reported("runId")) as string;
		await host.reported("ready");
		host.child.kill(signal);
		expect(await end).toEqual({ code: null, signal });
		await untilNothingIsLeft(runId, SOON_MS);
	},
);

test(
	"a signal while workers start is what the program dies of",
	LONG,
	async () => {
		const { host, end } = start("stays");
		const runId = (await host.reported("runId")) as string;
		host.child.kill("SIGTERM");
		expect(await end).toEqual({ code: null, signal: "SIGTERM" });
		await untilNothingIsLeft(runId, SOON_MS);
	},
);
