import { expect, test } from "vitest";
import { WorkerBoard } from "../src/worker-board.ts";
import { event, killed, ready, released, spawned, starting } from "./events.ts";

function board(...events: Parameters<WorkerBoard["hear"]>[0][]): WorkerBoard {
	const made = new WorkerBoard();
	for (const each of events) made.hear(each);
	return made;
}

test("a worker's row follows its life: starting, ready, its calls, exited", () => {
	const made = board(starting("digits-0", "r-1"));
	expect(made.rows).toMatchObject([{ state: "starting", pid: undefined }]);
	made.hear(spawned("digits-0", "r-1", 41));
	made.hear(ready("digits-0", "r-1", 41));
	made.hear(released("digits-0", "r-1"));
	made.hear(released("digits-0", "r-1"));
	expect(made.rows).toMatchObject([{ state: "ready", pid: 41, calls: 2 }]);
	made.hear(killed("digits-0", "r-1", 41));
	expect(made.rows).toMatchObject([{ state: "exited", pid: 41, calls: 2 }]);
});

test("the process that takes a slot begins at zero and names the one before it", () => {
	const made = board(
		starting("digits-0", "r-1"),
		spawned("digits-0", "r-1", 41),
		released("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
		starting("digits-0", "r-2"),
		spawned("digits-0", "r-2", 77),
	);
	expect(made.rows).toMatchObject([
		{ state: "starting", pid: 77, calls: 0, replaces: 41 },
	]);
});

test("late news of a process that is no longer in the slot change nothing", () => {
	const made = board(
		starting("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
		starting("digits-0", "r-2"),
		released("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
	);
	expect(made.rows).toMatchObject([{ state: "starting", calls: 0 }]);
});

test("what is heard after the exit does not bring a process back", () => {
	const made = board(
		starting("digits-0", "r-1"),
		killed("digits-0", "r-1", 41),
		event({
			type: "worker.stop_step",
			workerId: "digits-0",
			incarnation: "r-1",
			step: "sweep",
			sent: 0,
		}),
	);
	expect(made.rows).toMatchObject([{ state: "exited" }]);
});

test("the heartbeat's last word counts", () => {
	const ref = { workerId: "digits-0", incarnation: "r-1" };
	const made = board(
		starting("digits-0", "r-1"),
		event({
			type: "heartbeat.missed",
			...ref,
			sequence: 1,
			missedInARow: 1,
			timeoutMs: 2_000,
		}),
	);
	expect(made.rows[0]?.pulse).toEqual({ kind: "missed", inARow: 1 });
	made.hear(
		event(
			{ type: "heartbeat.answered", ...ref, sequence: 2, latencyMs: 0.4 },
			5_000,
		),
	);
	expect(made.rows[0]?.pulse).toEqual({
		kind: "answered",
		latencyMs: 0.4,
		atMs: 5_000,
	});
});

test("rows are in the order of the slots, ten after nine", () => {
	const made = board(
		...["digits-10", "digits-9", "digits-0"].map((id) => starting(id, id)),
	);
	expect(made.rows.map(({ workerId }) => workerId)).toEqual([
		"digits-0",
		"digits-9",
		"digits-10",
	]);
});
