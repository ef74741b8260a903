import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunId } from "../../src/contract/identity.ts";
import type { WorkerSlot } from "../../src/contract/launch.ts";
import { streamPair } from "../../src/testing/fake-process.ts";
import {
	formatLaunchMessage,
	MAX_CONTROL_LINE_BYTES,
	parseReadyLine,
	shakeHands,
} from "../../src/worker/control-channel.ts";

const slot: WorkerSlot = {
	pool: "p",
	index: 0,
	slots: 1,
	workerId: "p-0",
	incarnation: "k3x9a2p-1",
	runId: "k3x9a2p" as RunId,
	directory: "/run/1",
	sharedDirectory: undefined,
	callsPerWorker: 1,
	startTimeoutMs: 1_000,
};

/** A handshake with a worker that answers with these chunks and does not hang up. */
async function answered(...chunks: (string | Uint8Array)[]): Promise<unknown> {
	const [host, worker] = streamPair();
	const shaken = shakeHands(host, "p-0", "launch");
	for (const chunk of chunks) worker.write(chunk);
	return await shaken;
}

describe("the launch message", () => {
	test("is one line of JSON with the place, the worker, and the payload of the adapter", () => {
		const line = formatLaunchMessage(slot, "/run/1/l", "secret", {
			tools: "line\nbreak",
		});
		expect(line).not.toContain("\n");
		expect(JSON.parse(line)).toEqual({
			snakepit: 1,
			runId: "k3x9a2p",
			workerId: "p-0",
			incarnation: "k3x9a2p-1",
			lifeline: "/run/1/l",
			directory: "/run/1",
			token: "secret",
			payload: { tools: "line\nbreak" },
		});
	});

	test("over the limit is refused here, with its size and the way out", () => {
		const empty = formatLaunchMessage(slot, "l", "t", "").length;
		const fill = (bytes: number): string =>
			formatLaunchMessage(slot, "l", "t", "é".repeat((bytes - empty) / 2));
		const even = empty % 2;
		const most = MAX_CONTROL_LINE_BYTES - 2 + even;
		expect(Buffer.byteLength(fill(most))).toBe(most);
		expect(() => fill(MAX_CONTROL_LINE_BYTES + even)).toThrow(
			expect.objectContaining({
				code: "CONNECT_FAILED",
				ran: "no",
				message: expect.stringMatching(
					/p-0.*6553[67] bytes, at most 65536.*in a file or in the environment/,
				),
			}),
		);
	});

	test("is written at once, as the only thing the host ever writes", async () => {
		const [host, worker] = streamPair();
		const shaken = shakeHands(host, "p-0", '{"snakepit":1}');
		worker.write('{"ready":1}\n');
		await shaken;
		host.end();
		expect(await text(worker)).toBe('{"snakepit":1}\n');
	});
});

describe("the ready line", () => {
	test("is what the program reports about itself, whatever that is", () => {
		fc.assert(
			fc.property(fc.jsonValue(), (ready) => {
				const line = JSON.stringify({ ready });
				expect(parseReadyLine("p-0", line)).toEqual(JSON.parse(line).ready);
			}),
		);
	});

	test("may come in pieces, end with CRLF, and be followed by anything", async () => {
		const line = '{"ready":{"name":"naïve 🐍"}}\r\n';
		const bytes = [...Buffer.from(line)].map((byte) => Uint8Array.of(byte));
		expect(await answered(...bytes)).toEqual({ name: "naïve 🐍" });
		expect(await answered(`${line}{"failed":1}\nnoise`)).toEqual({
			name: "naïve 🐍",
		});
	});

	test("may fill the limit to its last byte, in one piece or in two", async () => {
		const frame = '{"ready":""}'.length;
		const line = JSON.stringify({
			ready: "x".repeat(MAX_CONTROL_LINE_BYTES - frame),
		});
		expect(line).toHaveLength(MAX_CONTROL_LINE_BYTES);
		expect(await answered(`${line}\n`)).toHaveLength(
			MAX_CONTROL_LINE_BYTES - frame,
		);
		expect(await answered(line, "\n")).toHaveLength(
			MAX_CONTROL_LINE_BYTES - frame,
		);
	});

	test("one byte over the limit is refused, with or without its line break", async () => {
		const line = "x".repeat(MAX_CONTROL_LINE_BYTES + 1);
		for (const chunks of [[`${line}\n`], [line], [line.slice(1), "x"]]) {
			await expect(answered(...chunks)).rejects.toMatchObject({
				code: "READY_LINE_TOO_LONG",
				ran: "no",
				message: expect.stringMatching(
					/p-0 wrote more than 65536 bytes.*print to standard output instead/,
				),
			});
		}
	});

	test.each([
		"",
		"hello",
		"null",
		"7",
		"[]",
		"{}",
		'{"ready":',
		'{"failed":null}',
		'{"failed":"no"}',
	])("%j is neither ready nor failed, and is shown", async (line) => {
		await expect(answered(`${line}\n`)).rejects.toMatchObject({
			code: "READY_LINE_INVALID",
			ran: "no",
			message: expect.stringContaining(JSON.stringify(line)),
		});
	});

	test("that is long and invalid is shown in part", () => {
		expect(() => parseReadyLine("p-0", "x".repeat(1_000))).toThrow(
			expect.objectContaining({
				message: expect.stringContaining(`"${"x".repeat(200)}…"`),
			}),
		);
	});

	test("of binary noise is refused as invalid or too long, and nothing else happens", async () => {
		await fc.assert(
			fc.asyncProperty(
				fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }),
				async (noise) => {
					const refusal = await answered(...noise, "\n").catch(
						(error: { code: string }) => error.code,
					);
					expect(refusal).toBe("READY_LINE_INVALID");
				},
			),
		);
	});
});

describe("a refusal", () => {
	const CODES = ["DISK_SLOW", "MODEL_MISSING"];
	const refusalOf = (failed: object): unknown => {
		try {
			return parseReadyLine("p-0", JSON.stringify({ failed }), CODES);
		} catch (error) {
			return error;
		}
	};

	test("with a code that its adapter names keeps it, its message and its detail", () => {
		expect(
			refusalOf({
				code: "MODEL_MISSING",
				message: "cannot import x",
				detail: "Traceback …",
			}),
		).toMatchObject({
			code: "MODEL_MISSING",
			ran: "no",
			message: "Worker p-0 could not start: cannot import x\nTraceback …",
		});
	});

	test("with an empty detail ends with its message", () => {
		expect(refusalOf({ message: "no tools", detail: "" })).toMatchObject({
			message: "Worker p-0 could not start: no tools",
		});
	});

	test("with any other code becomes WORKER_REFUSED, and the message has the code", () => {
		expect(
			refusalOf({ code: "NO_GPU", message: "no such device" }),
		).toMatchObject({
			code: "WORKER_REFUSED",
			message: "Worker p-0 could not start: no such device (NO_GPU)",
		});
	});

	test("cannot claim a code of core that its adapter does not name", () => {
		expect(refusalOf({ code: "POOL_CLOSED", message: "x" })).toMatchObject({
			code: "WORKER_REFUSED",
		});
	});

	test("without a reason is reported as such, and one that is no text is shown as it came", () => {
		expect(refusalOf({})).toMatchObject({
			message: "Worker p-0 could not start: no reason given",
		});
		expect(
			refusalOf({ code: 7, message: { a: 1 }, detail: [2] }),
		).toMatchObject({
			message: 'Worker p-0 could not start: {"a":1} (7)\n[2]',
		});
	});
});

describe("a channel that closes", () => {
	const tooEarly = expect.objectContaining({
		code: "WORKER_EXITED_EARLY",
		ran: "no",
		message: expect.stringContaining("closed its control channel"),
	});

	test("before the line, or within it, means the worker left", async () => {
		for (const said of ["", '{"ready":']) {
			for (const finish of ["end", "destroy"] as const) {
				const [host, worker] = streamPair();
				const shaken = shakeHands(host, "p-0", "launch");
				worker.write(said);
				worker[finish]();
				await expect(shaken).rejects.toEqual(tooEarly);
			}
		}
	});

	test("with an error keeps that as the cause", async () => {
		const broken = new Error("write EPIPE");
		const host = new Duplex({
			read: () => undefined,
			write: (_chunk, _encoding, done) => done(broken),
		});
		await expect(shakeHands(host, "p-0", "launch")).rejects.toMatchObject({
			code: "WORKER_EXITED_EARLY",
			cause: broken,
		});
	});

	test("after the line changes nothing", async () => {
		const [host, worker] = streamPair();
		const shaken = shakeHands(host, "p-0", "launch");
		worker.end('{"ready":1}\n');
		expect(await shaken).toBe(1);
		host.destroy(new Error("late"));
		await new Promise((resolve) => host.once("close", resolve));
	});
});

test("the output of a worker that keeps writing to its control channel is drained, and nothing of it is kept", async () => {
	const [host, worker] = streamPair();
	const shaken = shakeHands(host, "p-0", "launch");
	worker.write('{"ready":1}\n');
	await shaken;
	const chunk = Buffer.alloc(65_536, "x");
	for (let written = 0; written < 64; written++)
		await new Promise((resolve) => worker.write(chunk, resolve));
	expect(host.readableLength).toBeLessThan(chunk.length * 2);
	expect(host.listenerCount("data")).toBe(0);
});
