import type { ControlledEvent, ServedTick } from "@snakepit/control";
import { expect, test } from "vitest";
import type { PageUpdate } from "../../../src/dash/run-events.ts";
import {
	FIRST_STATE,
	newRunView,
	pageVerdict,
	withUpdate,
} from "../../../web/model/page-state.ts";

const tick = {
	verdict: { level: "fine", text: "All is well.", findings: [] },
	run: { wallMs: 1, pools: [] },
	...{ tickMs: 500, throughput: [], callsLeftOut: 0 },
} as unknown as ServedTick;
const event = (fields: Record<string, unknown>): PageUpdate => ({
	kind: "event",
	event: { wallMs: 5, ...fields } as unknown as ControlledEvent,
});
const after = (...updates: readonly PageUpdate[]) =>
	updates.reduce(withUpdate, newRunView("abcdefg"));
const verdictOf = (...updates: readonly PageUpdate[]) =>
	pageVerdict({ ...FIRST_STATE, run: after(...updates) });

const state: PageUpdate = { kind: "state", state: tick };
const gone: PageUpdate = {
	kind: "gone",
	how: "killed",
	message: "It is gone.",
};

test("the verdict is that of the program, until it is silent or gone", () => {
	expect(pageVerdict(FIRST_STATE).text).toMatch(/^No run/);
	expect(verdictOf().text).toBe("Looking at run abcdefg…");
	expect(verdictOf(state)).toEqual(tick.verdict);
	expect(
		verdictOf(state, { kind: "silent", message: "Silent." }),
	).toMatchObject({
		...{ level: "trouble", text: "Silent." },
		findings: [{ kind: "silent_program", text: "Silent." }],
	});
	expect(verdictOf(state, { kind: "silent", message: "" }, state)).toEqual(
		tick.verdict,
	);
	expect(verdictOf(state, gone)).toEqual({
		...{ level: "trouble", text: "It is gone.", findings: [] },
	});
});

test("the last state stays when the program is gone", () => {
	expect(after(state, gone)).toMatchObject({ tick, link: { kind: "gone" } });
});

test("calls and incidents are kept apart, latest first and not without end", () => {
	const run = after(
		event({ type: "call.settled", callId: "c1", outcome: "failed" }),
		event({
			...{ type: "call.settled", callId: "c2", outcome: "succeeded" },
			code: null,
		}),
		event({ type: "heartbeat.hung", workerId: "a", silentMs: 10_000 }),
		event({ type: "something.else" }),
		{ kind: "lost", records: 4 },
	);
	expect(run.calls).toMatchObject({
		failed: [{ callId: "c1", runId: "abcdefg" }],
		succeeded: [{ callId: "c2", code: undefined }],
	});
	expect(run.incidents).toMatchObject([
		{ tone: "bad", text: "a is hung: silent for 10.0 s" },
	]);
	expect(run).toMatchObject({ events: 4, lost: 4 });
	const many = Array(600).fill(event({ type: "pool.closed", pool: "a" }));
	expect(after(...many).incidents).toHaveLength(500);
	const fine = { type: "call.settled", outcome: "succeeded" };
	const failure = event({ ...fine, outcome: "failed", callId: "c1" });
	const busy = after(failure, ...Array(600).fill(event(fine)));
	expect(busy.calls.failed.map(({ callId }) => callId)).toEqual(["c1"]);
	expect(busy.calls.succeeded).toHaveLength(200);
});

test.each([
	[
		{ code: 1, kind: "code" },
		"exited",
		"none",
		"a (pid 3) exited with status 1: exited, 2 calls lost",
		"bad",
	],
	[
		{ signal: "SIGKILL", kind: "signal" },
		"hung",
		"stop_ladder",
		"a (pid 3) exited by SIGKILL, by Snakepit, because it hung, 2 calls lost",
		"bad",
	],
	[
		{ code: 0, kind: "code" },
		"recycled",
		"none",
		"a (pid 3) exited with status 0: recycled, 2 calls lost",
		"quiet",
	],
])(
	"the end of a worker is told in words: %o %s",
	(exit, reason, killer, text, tone) => {
		const exited = event({
			...{ type: "worker.exited", workerId: "a", pid: 3, exit, reason, killer },
			...{ callsLost: 2, tail: ["last"] },
		});
		expect(after(exited).incidents).toMatchObject([
			{ text, tone, lines: tone === "bad" ? ["last"] : [] },
		]);
	},
);
