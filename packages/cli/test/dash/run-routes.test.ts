import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import {
	type ControlClient,
	ControlError,
	type FoundRun,
	type LogLine,
	type RunUpdate,
} from "@snakepit/control";
import { expect, onTestFinished, test } from "vitest";
import {
	followRun,
	type PageUpdate,
	SharedRun,
} from "../../src/dash/run-events.ts";
import {
	BATCH_LINES,
	EventWriter,
	LINE_CHARACTERS,
	LogBatch,
} from "../../src/dash/run-routes.ts";
import { runsOfUser } from "../../src/dash/run-source.ts";

const run = { runId: "abcdefg", program: "demo.ts", pid: 7 } as FoundRun;
const lost: RunUpdate = { kind: "lost", records: 1 };

/** Follows a client of which each stream is one of these: updates, and the error at its end. */
async function followed(
	...streams: readonly (readonly (RunUpdate | string)[])[]
): Promise<{ updates: PageUpdate[]; pauses: number[] }> {
	const left = [...streams];
	const client = {
		run,
		async *events() {
			for (const each of left.shift() ?? ["HOST_GONE"]) {
				if (typeof each === "string")
					throw new ControlError({ code: each, message: `It is ${each}.` });
				yield each;
			}
		},
	};
	const pauses: number[] = [];
	const pause = async (ms: number) => void pauses.push(ms);
	const updates: PageUpdate[] = [];
	for await (const update of followRun(
		client,
		new AbortController().signal,
		pause,
	))
		updates.push(update);
	return { updates, pauses };
}

test("a closed run and a killed one are distinguished", async () => {
	expect((await followed([lost])).updates).toEqual([
		lost,
		{
			kind: "gone",
			how: "closed",
			message: "demo.ts (pid 7) closed its run abcdefg.",
		},
	]);
	const { updates } = await followed([lost, "HOST_GONE"]);
	expect(updates[1]).toMatchObject({ kind: "gone", how: "killed" });
});

test("what the program refuses is the last update", async () => {
	expect((await followed(["TOO_MANY_STREAMS"])).updates).toEqual([
		{ kind: "gone", how: "refused", message: "It is TOO_MANY_STREAMS." },
	]);
});

test("a silent program is asked again, less and less often, and from the start after an answer", async () => {
	const silent = ["HOST_SILENT"];
	const { updates, pauses } = await followed(
		...Array(7).fill(silent),
		[lost, "HOST_SILENT"],
		["HOST_GONE"],
	);
	expect(pauses).toEqual([
		500, 1_000, 2_000, 5_000, 10_000, 10_000, 10_000, 500,
	]);
	expect(updates.map(({ kind }) => kind)).toEqual([
		...Array(7).fill("silent"),
		...["lost", "silent", "gone"],
	]);
});

/** A run that pages follow, of which these updates come at once, and no others. */
function shared(...updates: readonly RunUpdate[]): SharedRun {
	const client = {
		run,
		async *events(signal: AbortSignal) {
			yield* updates;
			await once(signal, "abort");
		},
		[Symbol.dispose]: () => {},
	} as unknown as ControlClient;
	return new SharedRun(client, { pause: async () => {} }, () => {});
}

test("a page that comes later gets the latest state, without the calls that have been counted before", async () => {
	const state = { tickMs: 500, throughput: [{}], callsLeftOut: 3 };
	const update = { kind: "state", state } as unknown as RunUpdate;
	const following = shared(update);
	const { signal } = new AbortController();
	const first = following.updates(signal);
	expect((await first.next()).value).toEqual(update);
	await new Promise(setImmediate);
	const late = following.updates(signal);
	expect((await late.next()).value).toEqual({
		...{ kind: "state", state: { tickMs: 0, throughput: [], callsLeftOut: 0 } },
	});
	await Promise.all([first.return(), late.return()]);
});

test("a page that reads slowly loses events, and learns how many", async () => {
	const all = 2_500;
	const event = { type: "pool.closed", wallMs: 1 };
	const following = shared(...Array(all).fill({ kind: "event", event }));
	const page = following.updates(new AbortController().signal);
	let [events, lost] = [0, 0];
	for await (const update of page) {
		if (events === 0) await new Promise(setImmediate);
		if (update.kind === "event") events++;
		else if (update.kind === "lost") lost = update.records;
		if (lost > 0) break;
	}
	expect(lost).toBeGreaterThan(0);
	expect(events + lost).toBe(all);
});

test("a dashboard of one run attaches to no other", async () => {
	await expect(runsOfUser({ run: "abc" }).attach("zzzzzzz")).rejects.toThrow(
		"This dashboard shows runs whose id begins with abc.",
	);
});

const line = (text: string): LogLine => ({
	...{ wallMs: 1, pool: "p", workerId: "p-0", incarnation: "abcdefg-1" },
	...{ callId: null, from: "stdout", level: null, logger: null, cut: false },
	text,
});

test("the page gets the latest lines, and the number of those that were too many", () => {
	const batch = new LogBatch();
	expect(batch.take()).toBeUndefined();
	const all = 5 * BATCH_LINES + 7;
	for (let number = 0; number < all; number++) batch.add(line(`${number}`));
	batch.lost(3);
	const record = batch.take();
	expect(record?.lines).toHaveLength(BATCH_LINES);
	expect(record?.lines.at(-1)?.text).toBe(`${all - 1}`);
	expect(record?.leftOut).toBe(all - BATCH_LINES + 3);
	expect(batch.take()).toBeUndefined();
});

test("a long line is cut, and says how much is missing", () => {
	const batch = new LogBatch();
	batch.add(line("x".repeat(LINE_CHARACTERS + 10)));
	expect(batch.take()?.lines[0]).toMatchObject({
		text: "x".repeat(LINE_CHARACTERS),
		missing: 10,
	});
});

test("a page that has gone before its run was attached to is not followed for", async () => {
	const server = createServer();
	onTestFinished(() => void server.close());
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const page = connect(port, "127.0.0.1");
	page.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	const [, response] = (await once(server, "request")) as [
		unknown,
		ServerResponse,
	];
	page.destroy();
	await once(response, "close");
	const writer = new EventWriter(response);
	if (!writer.over.aborted) await once(writer.over, "abort");
	writer.write("a", {});
	await writer.drained();
	expect(writer.over.aborted).toBe(true);
});
