import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { ForkLine } from "../../src/os/fork/fork-line.ts";
import {
	encodeRequest,
	FrameError,
	FrameReader,
	MAX_ANSWER_BYTES,
	MAX_REQUEST_BYTES,
	parseAnswer,
	type Request,
} from "../../src/os/fork/request.ts";
import { FakeProcessHost } from "../../src/testing/fake-process-host.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { PLAIN } from "../guard/bench.ts";

/** An answer as a process that forks sends it. */
function answerFrame(message: unknown): Buffer {
	const body = Buffer.from(JSON.stringify(message));
	const length = Buffer.alloc(4);
	length.writeUInt32BE(body.length);
	return Buffer.concat([length, body]);
}

const START: Request = {
	type: "start",
	id: 0x01020304,
	label: "run-1",
	executable: "sh",
	args: ["-c", ""],
	variables: ["A=ü"],
	cwd: "/",
	descriptors: [1, 2, 3],
};

test("answers arrive whole and in order however the bytes are cut", () => {
	const message = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });
	fc.assert(
		fc.property(
			fc.array(message, { maxLength: 5 }),
			fc.array(fc.nat(400)),
			(messages, cuts) => {
				const data = Buffer.concat(messages.map(answerFrame));
				const edges = [0, ...cuts, data.length]
					.map((edge) => Math.min(edge, data.length))
					.sort((a, b) => a - b);
				const reader = new FrameReader();
				const got = edges.flatMap((edge, n) =>
					reader.feed(data.subarray(edges[n - 1] ?? 0, edge)),
				);
				expect(got).toEqual(JSON.parse(JSON.stringify(messages)));
			},
		),
	);
});

test("any bytes are answers or a FrameError", () => {
	fc.assert(
		fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
			try {
				new FrameReader().feed(Buffer.from(bytes)).map(parseAnswer);
			} catch (error) {
				expect(error).toBeInstanceOf(FrameError);
			}
		}),
	);
});

test("lengths over the limits are refused on both sides", () => {
	const length = Buffer.alloc(4);
	length.writeUInt32BE(MAX_ANSWER_BYTES + 1);
	expect(() => new FrameReader().feed(length)).toThrow(FrameError);
	const args = ["x".repeat(MAX_REQUEST_BYTES)];
	expect(encodeRequest({ ...START, args })).toBeUndefined();
});

// The same bytes as in python/tests/preload/test_parent.py.
test("requests are the bytes that a process that forks takes", () => {
	const start =
		"00000022 01 01020304 0e 00000002 00000001" +
		"72756e2d3100 736800 2f00 2d6300 00 413dc3bc00";
	expect(encodeRequest(START)?.toString("hex")).toBe(start.replaceAll(" ", ""));
	const others = (["go", "discard", "reap"] as const).map((type) =>
		encodeRequest({ type, id: 7 })?.toString("hex"),
	);
	expect(others).toEqual([
		"000000050200000007",
		"000000050300000007",
		"000000050400000007",
	]);
	expect(encodeRequest({ type: "end" })?.toString("hex")).toBe("0000000105");
});

test("an answer that lacks something, or is none, is refused", () => {
	const wrong = [
		{ type: "fly" },
		{},
		{ type: "ready", version: 1, pid: 1 },
		{ type: "held", id: 1 },
		{ type: "failed", id: 1, errno: -1, message: "" },
		{ type: "failed", id: 1, errno: 1 },
		{ type: "exited", id: 1, how: "code" },
	];
	for (const message of wrong)
		expect(() => parseAnswer(message)).toThrow(FrameError);
});

test("an end by a signal names it; one without a name is shown as a shell does", () => {
	const exited = { type: "exited", id: 1 };
	expect(parseAnswer({ ...exited, how: "signal", status: 9 })).toMatchObject({
		exit: { kind: "signal", signal: "SIGKILL" },
	});
	expect(parseAnswer({ ...exited, how: "signal", status: 40 })).toMatchObject({
		exit: { kind: "code", code: 168 },
	});
});

test("a signal with two names has the name that everybody knows", () => {
	const exited = (status: number) =>
		parseAnswer({ type: "exited", id: 1, how: "signal", status });
	expect(exited(constants.signals.SIGABRT)).toMatchObject({
		exit: { kind: "signal", signal: "SIGABRT" },
	});
	expect(exited(constants.signals.SIGIO)).toMatchObject({
		exit: { kind: "signal", signal: "SIGIO" },
	});
});

test("a process that does not answer a start within a minute has to be ended, and the start fails", async () => {
	const directory = mkdtempSync(join(tmpdir(), "snakepit-fork-"));
	onTestFinished(() => rmSync(directory, { recursive: true }));
	const socketPath = join(directory, "silent");
	const silent = createServer().listen(socketPath);
	onTestFinished(() => void silent.close());
	await once(silent, "listening");
	const connection = connect(socketPath);
	await once(connection, "connect");
	const clock = new VirtualClock();
	const ends: string[] = [];
	const line = new ForkLine({
		connection,
		socketPath,
		source: "guard",
		highestDescriptor: 6,
		host: new FakeProcessHost({ clock }),
		clock,
		lost: () => ends.push("lost"),
		broken: () => ends.push("broken"),
	});
	const start = line.fork({ ...PLAIN, executable: "true" }, () => {});
	const failed = expect(start).rejects.toMatchObject({
		code: "SPAWN_FAILED",
		ran: "no",
		message: expect.stringContaining(
			"the guard did not start a process within 60 s",
		),
	});
	await clock.advance(59_999);
	expect(ends).toEqual([]);
	await clock.advance(1);
	expect(ends).toEqual(["lost", "broken"]);
	await failed;
});
