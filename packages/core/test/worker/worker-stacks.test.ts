import { expect, test } from "vitest";
import type { LaunchStacks } from "../../src/contract/launch.ts";
import type { ProcessHost, StartedProcess } from "../../src/contract/world.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import type { WorkerResources } from "../../src/worker/worker.ts";
import { dumpUnreadyStacks } from "../../src/worker/worker-output.ts";
import {
	StacksOnRequest,
	type StacksSubject,
} from "../../src/worker/worker-stacks.ts";

/** Stacks on request: what is sent to a program, and what of its lines is the answer. */

const SPEC: LaunchStacks = {
	...({ signal: "SIGUSR1", forcedSignal: "SIGQUIT" } as const),
	...{ begin: /^begin$/, end: /^end$/, line: /^ at / },
};

interface Setting {
	readonly handles?: ReturnType<ProcessHost["handles"]>;
	readonly held?: "no" | "stopped" | "traced";
	readonly ping?: StacksSubject["ping"];
	readonly state?: StacksSubject["state"];
}

/** A program whose lines the test decides. */
function program({
	handles = "yes",
	held = "no",
	ping = () => new Promise(() => {}),
	state = "started",
}: Setting = {}) {
	const clock = new VirtualClock();
	const sent: string[] = [];
	const output = { takesStack: (_: string): boolean => false };
	const exit = Promise.withResolvers<never>();
	const process = {
		identity: { pid: 1 },
		exited: exit.promise,
		signal: (signal: string) => {
			sent.push(signal);
			return "sent";
		},
	} as unknown as StartedProcess;
	const stacks = new StacksOnRequest(SPEC, process, output, {
		clock,
		host: {
			handles: () => handles,
			threads: () => [{ id: "1", cpuTimeMs: 0, held }],
		},
	});
	return {
		...{ sent, clock, end: () => exit.resolve(undefined as never) },
		/** Returns those that are not taken. */
		prints: (...lines: readonly string[]) =>
			lines.filter((line) => !output.takesStack(line)),
		request: () => stacks.request({ workerId: "demo-0", state, ping }),
	};
}

test("stacks that a program writes itself are its answer, between the first line and the last; other lines stay output", async () => {
	const { request, prints, sent } = program();
	const both = Promise.all([request(), request()]);
	expect(prints("begin", " at a", "hello", " at b", "end", " at c")).toEqual([
		"hello",
		" at c",
	]);
	const answer = { how: "asked", lines: ["begin", " at a", " at b"] };
	expect(await both).toEqual([answer, answer]);
	expect(sent).toEqual(["SIGUSR1"]);
	// Somebody else asked for these.
	expect(prints("begin", " at a", "end")).toHaveLength(3);
});

test("a program in which nothing runs is sent the other signal; what it writes later of the first is no output", async () => {
	const { request, prints, sent, clock } = program();
	const forced = request();
	await clock.advance(2_000);
	expect(sent).toEqual(["SIGUSR1", "SIGQUIT"]);
	expect(prints(" at a", " at b")).toEqual([]);
	expect(await clock.advanceUntil(forced)).toEqual({
		...{ how: "forced", lines: [" at a", " at b"] },
	});
	// It crashes now: those stacks are its own.
	expect(prints(" at fault")).toEqual([" at fault"]);
	expect(prints("begin", " at late", "end", " at own")).toEqual([" at own"]);
});

test("a program that answers pings is never forced: its stacks change while they are read", async () => {
	const { request, sent, clock } = program({ ping: async () => ({}) });
	const failed = expect(request()).rejects.toMatchObject({
		...{ name: "InputError", code: "STACKS_UNAVAILABLE" },
		message: /^Worker demo-0 answers pings but did not react to SIGUSR1/,
	});
	await clock.advance(4_000);
	await failed;
	expect(sent).toEqual(["SIGUSR1"]);
});

test.each([
	[{ held: "stopped" }, "is stopped by a signal"],
	[{ held: "traced" }, "is held by a debugger"],
	[{ handles: "no" }, "does not handle SIGUSR1 any more"],
	[{ handles: "no", state: "starting" }, "has only begun to start"],
	[{ handles: "unknown", state: "starting" }, "has only begun to start"],
] as const)("a program that is %j is sent nothing", async (setting, why) => {
	const { request, sent } = program(setting);
	await expect(request()).rejects.toThrow(why);
	expect(sent).toEqual([]);
});

test("the end of a program ends the request", async () => {
	const { request, end } = program();
	const failed = expect(request()).rejects.toThrow("Worker demo-0 has ended.");
	end();
	await failed;
});

test("a program that writes nothing at all is given up", async () => {
	const { request, clock } = program();
	const failed = expect(request()).rejects.toThrow(
		/did not react to SIGUSR1 within 2000 ms, and wrote nothing after SIGQUIT/,
	);
	await clock.advance(10_000);
	await failed;
});

type Asked = Parameters<typeof dumpUnreadyStacks>[0];
type Outcome = ReturnType<WorkerResources["process"]["signal"]>;

/** Asks a program that never ends; returns what was sent, and how long that took. */
async function ask(
	handles: ReturnType<ProcessHost["handles"]>,
	outcome: Outcome = "sent",
): Promise<{ readonly sent: readonly string[]; readonly tookMs: number }> {
	const clock = new VirtualClock();
	const sent: string[] = [];
	const process = {
		exited: new Promise(() => undefined),
		signal: (signal: string): Outcome => {
			sent.push(signal);
			return outcome;
		},
	};
	const resources = { process, output: { expectStacks: () => undefined } };
	await clock.advanceUntil(
		dumpUnreadyStacks(
			{ ...resources, dumpSignal: "SIGQUIT" } as unknown as Asked,
			{ clock, host: { handles: () => handles } },
		),
	);
	return { sent, tookMs: clock.now() };
}

test("a program that handles the signal is sent it, and has time to write", async () => {
	expect(await ask("yes")).toEqual({ sent: ["SIGQUIT"], tookMs: 250 });
});

test.each(["no", "unknown"] as const)(
	"where the system answers %s to whether a program handles it, it is not sent",
	async (handles) => {
		expect(await ask(handles)).toEqual({ sent: [], tookMs: 0 });
	},
);

test("the stacks of a program that was not reached are not awaited", async () => {
	expect(await ask("yes", "gone")).toMatchObject({ tookMs: 0 });
});
