import { describe, expect, test } from "vitest";
import type {
	FakeProcess,
	FakeProgram,
} from "../../src/testing/fake-process.ts";
import { virtualWorld } from "../../src/testing/virtual-pool.ts";
import { WorkerOutput } from "../../src/worker/worker-output.ts";
import { Call, readyScene } from "./worker-scenes.ts";

const idle: FakeProgram = (process) => process.idle();

/** The output of one program, as it is reported. */
async function scene(
	options: {
		readonly ownsStdout?: boolean;
		readonly echo?: "stderr" | "none";
		readonly maxLineBytes?: number;
		readonly tailLines?: number;
	} = {},
) {
	const virtual = virtualWorld();
	const { host, world, clock, events } = virtual;
	host.install("program", idle);
	const started = await host.source.start(
		{
			executable: "program",
			args: [],
			env: {},
			cwd: undefined,
			stdin: "empty",
			control: false,
		},
		() => undefined,
	);
	const output = new WorkerOutput(
		started,
		options.ownsStdout ?? true,
		{ pool: "p", workerId: "p-0", incarnation: "r-1" },
		{
			echo: options.echo ?? "none",
			maxLineBytes: options.maxLineBytes ?? 100,
			tailLines: options.tailLines ?? 3,
		},
		world,
	);
	await clock.settle();
	return {
		...virtual,
		started,
		process: host.started[0] as FakeProcess,
		output,
		lines: () =>
			events.of("worker.output").map(({ stream, line }) => [stream, line]),
	};
}

test("each line is reported with its stream and its worker, and kept as the tail of both", async () => {
	const { process, output, clock, lines, events } = await scene();
	process.write("one");
	process.write("two", "stderr");
	await clock.settle();
	expect(lines()).toEqual([
		["stdout", "one"],
		["stderr", "two"],
	]);
	expect(events.of("worker.output")[0]).toMatchObject({
		pool: "p",
		workerId: "p-0",
		incarnation: "r-1",
		wallMs: clock.wall(),
		cut: false,
	});
	expect(output.tail.lines()).toEqual(["one", "two"]);
});

test("lines are shown to people with the worker's name, a cut one with a mark; or not at all", async () => {
	const shown = await scene({ echo: "stderr", maxLineBytes: 4 });
	shown.process.write("well");
	shown.process.write("a long one", "stderr");
	await shown.clock.settle();
	expect(shown.host.echoed).toEqual(["[p-0] well", "[p-0] a lo …"]);
	expect(shown.events.of("worker.output")[1]).toMatchObject({ cut: true });

	const silent = await scene({ echo: "none" });
	silent.process.write("well");
	await silent.clock.settle();
	expect(silent.host.echoed).toEqual([]);
	expect(silent.lines()).toHaveLength(1);
});

test("standard output that belongs to the adapter's conversation is not touched", async () => {
	const { process, started, output, clock, lines } = await scene({
		ownsStdout: false,
	});
	process.write("an answer");
	process.write("a problem", "stderr");
	await clock.settle();
	expect(lines()).toEqual([["stderr", "a problem"]]);
	output.close();
	expect(String(started.stdout.read())).toBe("an answer\n");
});

describe("the last lines", () => {
	test("are there as soon as no process holds the output any more", async () => {
		const { process, output, clock } = await scene();
		const read = output.lastLines();
		process.output.stderr.write("and without a break");
		process.exit(1);
		await clock.settle();
		await read;
		expect(clock.now()).toBe(0);
		expect(clock.pending()).toBe(0);
		expect(output.tail.lines()).toEqual(["and without a break"]);
	});

	test("are awaited a tenth of a second when a child of the worker holds its output open", async () => {
		const { process, output, clock } = await scene();
		process.fork(idle);
		await clock.settle();
		process.exit(1);
		await clock.advanceUntil(output.lastLines());
		expect(clock.now()).toBe(100);
	});
});

test("what a leftover prints after the end is dropped", async () => {
	const { process, output, clock, lines } = await scene();
	const leftover = process.fork(idle);
	await clock.settle();
	process.output.stdout.write("half a li");
	await clock.settle();
	process.exit(1);
	output.close();
	await clock.settle();
	leftover.write("ne, and more");
	await clock.settle();
	expect(lines()).toEqual([["stdout", "half a li"]]);
});

test("a line carries the id of the call that runs while it is read, where exactly one does", async () => {
	const { worker, process, clock, events } = await readyScene(
		{},
		{ callsPerWorker: 2 },
	);
	const [one, two] = [new Call("one"), new Call("two")];
	const print = async (line: string) => {
		process.write(line);
		await clock.settle();
	};
	await print("before");
	worker.calls.add(one);
	await print("one alone");
	worker.calls.add(two);
	await print("both");
	worker.finish(one, "answered");
	await print("two alone");
	worker.finish(two, "answered");
	await print("after");
	expect(
		events.of("worker.output").map(({ line, callId }) => [line, callId]),
	).toEqual([
		["before", undefined],
		["one alone", "one"],
		["both", undefined],
		["two alone", "two"],
		["after", undefined],
	]);
});
