import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { heldBytes } from "../../../scripts/held-bytes.ts";
import { PENDING_CHARACTERS } from "../src/limits.ts";
import { clientOf, serve, TOKEN } from "./fake-run.ts";

describe("a stream of events", () => {
	test("has the state at once and again, with what ended meanwhile; most calls that succeed are counted only", async () => {
		const served = await serve();
		using client = clientOf(served);
		const seen: unknown[] = [];
		let ticks = 0;
		for await (const update of client.events()) {
			if (update.kind === "event") seen.push(update.event);
			if (update.kind !== "state") continue;
			ticks++;
			expect(update.state.verdict.text).toBe(
				"1 worker, 0 busy; no call waits.",
			);
			if (ticks === 1) {
				expect(update.state.throughput).toEqual([]);
				for (let index = 0; index < 500; index++) {
					served.run.happened(
						"events",
						settled("echo", index < 450 ? "succeeded" : "failed"),
					);
					if (index === 100)
						served.run.happened("events", settled("other", "succeeded"));
				}
			} else {
				expect(update.state.callsLeftOut).toBe(441);
				expect(update.state.throughput).toEqual([
					{
						...{ pool: "demo", command: "echo", succeeded: 450, failed: 50 },
						totalMs: [[expect.any(Number), 500]],
					},
					{
						...{ pool: "demo", command: "other", succeeded: 1, failed: 0 },
						totalMs: [[expect.any(Number), 1]],
					},
				]);
				break;
			}
		}
		expect(seen).toHaveLength(60);
		await expect.poll(() => served.run.listeners.events.size).toBe(0);
	});

	test("costs the run nothing before it begins, and nothing after it has ended", async () => {
		const served = await serve();
		using client = clientOf(served);
		await client.state();
		expect(served.run.listeners.events.size).toBe(0);
		const events = client.events();
		await events.next();
		expect(served.run.listeners.events.size).toBe(1);
		await events.return();
		await expect.poll(() => served.run.listeners.events.size).toBe(0);
		// The process table was read for the state and for the stream: within two seconds that is once.
		expect(served.run.usages).toBe(1);
	});

	test("of a client that does not read loses events, says how many, and keeps the program's memory bounded", async () => {
		const served = await serve();
		const socket = connect(served.socketPath);
		socket.write(
			`GET /v1/logs HTTP/1.1\r\nHost: run\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
		);
		await expect.poll(() => served.run.listeners.logs.size).toBe(1);
		const before = heldBytes();
		const lines = 100_000;
		for (let index = 0; index < lines; index++)
			served.run.happened("logs", {
				...{ type: "worker.output", wallMs: 1, pool: "demo" },
				...{ workerId: "demo-0", incarnation: "abcdefg-1" },
				...{ stream: "stdout", line: "x".repeat(1_000), cut: false },
			});
		expect(heldBytes() - before).toBeLessThan(4 * PENDING_CHARACTERS);
		let text = "";
		for await (const chunk of socket) {
			text += String(chunk);
			if (text.includes("event: lost\n")) break;
		}
		const lost = /event: lost\ndata: \{"records":(\d+)\}/.exec(text);
		const arrived = text.split("event: line\n").length - 1;
		expect(arrived + Number(lost?.[1])).toBe(lines);
	});

	test("is one of eight at most", async () => {
		const served = await serve();
		const clients = Array.from({ length: 9 }, () => clientOf(served));
		const streams = clients.map((client) => client.events());
		const first = await Promise.allSettled(streams.map((each) => each.next()));
		expect(first.filter(({ status }) => status === "fulfilled")).toHaveLength(
			8,
		);
		expect(first.find(({ status }) => status === "rejected")).toMatchObject({
			reason: { code: "TOO_MANY_STREAMS" },
		});
		for (const client of clients) client[Symbol.dispose]();
		await Promise.all(streams.map((each) => each.return()));
	});

	test("ends with the run, after its last event", async () => {
		const served = await serve();
		using client = clientOf(served);
		const types: unknown[] = [];
		for await (const update of client.events()) {
			if (update.kind === "event") types.push(update.event.type);
			else if (types.length === 0) {
				served.run.happened("events", { type: "run.ended", wallMs: 1 });
				served.server.close();
				served.listener.close();
			}
		}
		expect(types).toEqual(["run.ended"]);
		await expect(client.state()).rejects.toMatchObject({ code: "HOST_GONE" });
	});
});

function settled(command: string, outcome: string) {
	return {
		...{ type: "call.settled", wallMs: 1, pool: "demo", callId: "c1" },
		...{ command, outcome, totalMs: 3, attempts: 1 },
	};
}
