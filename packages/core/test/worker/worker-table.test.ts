import { expect, test } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import { WorkerLostError } from "../../src/contract/errors.ts";
import {
	WORKER_TABLE,
	type WorkerState,
	type WorkerTrigger,
} from "../../src/contract/run-and-worker-states.ts";
import { RunningCalls } from "../../src/worker/running-calls.ts";
import {
	Call,
	occupiedScene,
	readyScene,
	type Scene,
	startingScene,
} from "./worker-scenes.ts";

const lastCall = new Call();
const connection: Connection = {
	execute: () => expect.unreachable(),
	[Symbol.asyncDispose]: async () => undefined,
};

/** Brings a fresh worker into a state. */
const REACH: Readonly<Record<WorkerState, () => Promise<Scene>>> = {
	starting: async () => {
		const scene = await startingScene();
		scene.process.endDelayMs = 10;
		return scene;
	},
	ready: () => occupiedScene(lastCall),
	draining: async () => {
		const scene = await occupiedScene(lastCall);
		scene.worker.retire("age");
		return scene;
	},
	stopping: async () => {
		const scene = await occupiedScene(lastCall);
		scene.worker.condemn("stuck", "a call did not finish");
		return scene;
	},
	exited: async () => {
		const scene = await readyScene();
		scene.process.exit(1);
		await scene.clock.settle();
		return scene;
	},
};
/** What makes each thing happen. */
const HAPPEN: Readonly<Record<WorkerTrigger, (scene: Scene) => void>> = {
	became_ready: ({ worker, process }) =>
		void worker.becameReady(connection, process.identity, () => {}),
	start_failed: ({ worker }) => worker.condemn("start_failed", "on purpose"),
	retire: ({ worker }) => worker.retire("idle"),
	drained: ({ worker }) => worker.finish(lastCall, "answered"),
	condemn: ({ worker }) => worker.condemn("hung", "on purpose"),
	conversation_over: ({ worker }) => worker.conversationOver("on purpose"),
	process_exited: ({ process }) => process.exit(1),
};
/** Our defects that cannot even be made: they leave the worker as it is. */
const UNMAKEABLE = ["starting drained", "exited process_exited"];

const cells = (Object.keys(WORKER_TABLE) as WorkerState[]).flatMap((state) =>
	(Object.keys(WORKER_TABLE[state]) as WorkerTrigger[]).map((trigger) => ({
		state,
		trigger,
		step: WORKER_TABLE[state][trigger],
	})),
);

test.each(cells)(
	"the table is what happens: $state, $trigger",
	async ({ state, trigger, step }) => {
		const scene = await REACH[state]();
		expect(scene.worker.state).toBe(state);
		const happen = (): void => HAPPEN[trigger](scene);
		const makeable = !UNMAKEABLE.includes(`${state} ${trigger}`);
		if (step.kind === "impossible" && makeable) {
			expect(happen).toThrow(
				expect.objectContaining({
					code: "IMPOSSIBLE_TRANSITION",
					message: expect.stringContaining(
						`scripted-0 was ${state} when ${trigger} happened`,
					),
				}),
			);
		} else happen();
		if (trigger === "process_exited") await scene.clock.settle();
		expect(scene.worker.state).toBe(step.kind === "move" ? step.to : state);
	},
);

const lost = (): WorkerLostError =>
	new WorkerLostError({ code: "WORKER_EXITED", ran: "maybe", message: "gone" });

/** The calls of a worker that got these, one after the other, of which all run. */
function running(...commands: string[]): {
	readonly calls: RunningCalls;
	readonly attempts: readonly Call[];
} {
	const calls = new RunningCalls();
	const attempts = commands.map((command) => new Call(command, command));
	for (const attempt of attempts) calls.add(attempt);
	return { calls, attempts };
}

test("of a worker that loses calls, the one that ran longest is named: others may have been prefetched", () => {
	const { calls, attempts } = running("quick", "sleep", "nap");
	calls.remove(attempts[0] as Call, "answered");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("sleep");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("sleep");
	expect(calls.lost).toBe(2);
});

test("of a worker that ends between calls, the last one is named", () => {
	const { calls, attempts } = running("first", "second");
	for (const attempt of attempts) calls.remove(attempt, "answered");
	calls.lose(lost);
	expect(calls.lastCommand).toBe("second");
});

test("a call that is not there takes no other away", () => {
	const calls = new RunningCalls();
	const [there, gone] = [new Call("c1"), new Call("c2")] as const;
	calls.add(there);
	expect(calls.remove(gone, "answered")).toBe(false);
	expect(calls.attempts).toEqual([there]);
	expect(calls.remove(there, "answered")).toBe(true);
	expect(calls.attempts).toEqual([]);
});
