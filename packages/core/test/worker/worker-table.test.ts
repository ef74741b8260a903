import { expect, test } from "vitest";
import type { Connection } from "../../src/contract/connection.ts";
import {
	WORKER_TABLE,
	type WorkerState,
	type WorkerTrigger,
} from "../../src/contract/run-and-worker-states.ts";
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
