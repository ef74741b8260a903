import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ProgramEnd } from "../../src/contract/process-registry.ts";
import { type RunHistory, readHistory } from "../../src/inspect/history.ts";
import { RunEnding } from "../../src/run/program-end.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const PROGRAM = join(import.meta.dirname, "ending-program.ts");
const DEADLINE_MS = 60_000;
const AT_CHARGE = expect.stringMatching(
	/charge.* \(\/.*\/ending-program\.ts:\d+:\d+\)$/,
);
const IN_PROGRAM = expect.stringMatching(/ending-program\.ts:\d+:\d+\)?$/);
const CHARGED = {
	...{ name: "PaymentError", at: AT_CHARGE },
	message: "card 17 refused (cause: Error: no connection)",
};

/** Runs the program until it has ended. @param signal sent when it is ready. */
async function ended(
	how: string,
	signal?: NodeJS.Signals,
): Promise<RunHistory & { readonly status: number | NodeJS.Signals | null }> {
	const dataDir = temporaryDirectory();
	const program = spawn(
		process.execPath,
		["--conditions=snakepit-source", PROGRAM, dataDir, how],
		{ stdio: ["ignore", "pipe", "ignore"] },
	);
	onTestFinished(() => void program.kill("SIGKILL"));
	const end = once(program, "exit");
	if (signal !== undefined) {
		await once(program.stdout, "data");
		program.kill(signal);
	}
	program.stdout.resume();
	const [code, by] = await end;
	for await (const run of readHistory({ dataDir }))
		return { ...run, status: by ?? code };
	throw new Error("there is no run");
}

const finished = (code: number) => ({
	how: "finished",
	code,
});
const exited = (code: number) => ({ how: "exited", code, at: IN_PROGRAM });
const bySignal = (name: string) => ({ how: "signal", signal: { name } });
const crashed = (origin: string) => ({
	...{ how: "crashed", code: 1 },
	error: { ...CHARGED, origin, outcome: "ends" },
});

test.each([
	["returns", undefined, 0, finished(0)],
	["idle", undefined, 0, finished(0)],
	["sets an exit code", undefined, 4, finished(4)],
	["gets a code at its exit", undefined, 6, finished(6)],
	["exits", undefined, 3, exited(3)],
	["exits well", undefined, 0, exited(0)],
	["throws", undefined, 1, crashed("uncaughtException")],
	["rejects", undefined, 1, crashed("unhandledRejection")],
	["throws with its pool", undefined, 1, crashed("unhandledRejection")],
	[
		"throws a text",
		undefined,
		1,
		{
			how: "crashed",
			error: { name: "thrown string", message: "no card" },
		},
	],
	[
		"fails to create a pool",
		undefined,
		1,
		{
			how: "crashed",
			error: {
				name: "StartError",
				code: "WORKER_EXITED_EARLY",
				at: IN_PROGRAM,
			},
		},
	],
	["handles that and exits", undefined, 9, exited(9)],
	[
		"has a listener that exits",
		undefined,
		5,
		{ ...exited(5), error: { ...CHARGED, outcome: "goes_on" } },
	],
	["never settles", undefined, 13, finished(13)],
	["waits", "SIGTERM", "SIGTERM", bySignal("SIGTERM")],
	["waits", "SIGINT", "SIGINT", bySignal("SIGINT")],
	[
		"waits with a listener",
		"SIGTERM",
		0,
		{ ...exited(0), signal: { name: "SIGTERM" } },
	],
] as const)(
	"a program that %s (%s) ends with %s, and the ledger says how",
	async (how, signal, status, programEnd) => {
		const run = await ended(how, signal);
		expect(run).toMatchObject({
			...{ status, clean: true, state: "terminated" },
			programEnd: { of: "program", ...programEnd },
		});
		expect(run.programEnd?.wallMs).toBeGreaterThanOrEqual(run.startedAt);
	},
	DEADLINE_MS,
);

test.each([
	["waits", "SIGKILL", "SIGKILL", undefined],
	["aborts", undefined, "SIGABRT", undefined],
	[
		"has a listener and goes on",
		"SIGKILL",
		"SIGKILL",
		{ error: { ...CHARGED, outcome: "goes_on" } },
	],
] as const)(
	"a program that %s (%s) and dies without a word has no recorded end, but what was known before",
	async (how, signal, status, programEnd) => {
		const run = await ended(how, signal);
		expect(run).toMatchObject({ status, state: "host_died" });
		if (programEnd === undefined) expect(run.programEnd).toBeUndefined();
		else expect(run.programEnd).toMatchObject(programEnd);
	},
	DEADLINE_MS,
);

test(
	"a pool that could not be created is an incident, and the row of its worker has the error",
	async () => {
		const { incidents, workers } = await ended("handles that and exits");
		const error = { name: "StartError", code: "WORKER_EXITED_EARLY" };
		expect(incidents).toMatchObject([
			{ type: "pool.start_failed", pool: "naps", adapter: "sleeps", error },
		]);
		expect(workers).toMatchObject(
			[
				{
					startError: { ...error, message: /exited with code 1/ },
					end: { reason: "start_failed" },
				},
			].map(({ startError, ...rest }) => ({
				...rest,
				startError: {
					...startError,
					message: expect.stringMatching(startError.message),
				},
			})),
		);
	},
	DEADLINE_MS,
);

/** What is recorded of the end of a program. */
function ending(
	more: Partial<ConstructorParameters<typeof RunEnding>[0]> = {},
) {
	const recorded: ProgramEnd[] = [];
	const end = new RunEnding({
		...{ of: "program", clock: { wall: () => 0 }, content: "recorded" },
		record: (each) => recorded.push(each),
		amend: (each) => recorded.push(each),
		...more,
	});
	return { end, recorded };
}

const caught = (wallMs: number) => ({
	...({ name: "PaymentError", code: undefined, at: undefined } as const),
	...({ message: "card 17 refused", wallMs } as const),
	...({ origin: "uncaughtException", outcome: "goes_on" } as const),
});

test("without content, an error that nothing caught has no message in the ledger", () => {
	const { end, recorded } = ending({ content: "left_out" });
	end.uncaught(caught(0));
	expect(recorded).toMatchObject([{ error: { name: "PaymentError" } }]);
	expect(JSON.stringify(recorded)).not.toContain("card");
});

test("errors that a listener catches again and again are written once a second", () => {
	const { end, recorded } = ending();
	for (let wallMs = 0; wallMs < 3_000; wallMs += 10)
		end.uncaught(caught(wallMs));
	expect(recorded).toHaveLength(3);
});

test("a run of a thread is known from its beginning to end with that thread", () => {
	const { end, recorded } = ending({ of: "thread" });
	end.begun();
	expect(recorded).toMatchObject([{ of: "thread" }]);
});
