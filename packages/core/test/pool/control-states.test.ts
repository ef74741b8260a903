import { expect, test } from "vitest";
import { staysPut } from "../../src/testing/scripted-adapter.ts";
import { type ScriptedAdapterOptions, scripts } from "../../src/testing.ts";
import { outcome, type VirtualPool, virtualPool } from "./virtual-pool.ts";

const commands = { work: scripts.work };

type Scene = VirtualPool;

/** Brings the only worker into a state, and the pool with it. */
const STATES: Readonly<
	Record<
		"starting" | "ready" | "draining" | "stopping" | "backing off" | "gone",
		{
			readonly script?: Partial<ScriptedAdapterOptions>;
			readonly bring: (scene: Scene) => Promise<void>;
			/** Of which there is no worker to see. */
			readonly isEmpty?: true;
		}
	>
> = {
	starting: {
		script: {
			connect: ({ number, process }) =>
				number > 1 ? process.sleep(500) : undefined,
		},
		bring: async ({ adapter, clock }) => {
			adapter.workers[0]?.crash();
			await clock.advance(250);
		},
	},
	ready: { bring: async () => {} },
	draining: {
		bring: async ({ pool, clock }) => {
			pool.execute("work", 2_000).catch(() => {});
			await clock.advance(1);
			void pool.recycle("scripted-0");
			await clock.advance(100);
		},
	},
	stopping: {
		script: { leave: staysPut },
		bring: async ({ pool, clock }) => {
			void pool.recycle("scripted-0").catch(() => {});
			await clock.advance(100);
		},
	},
	"backing off": {
		isEmpty: true,
		bring: async ({ adapter, clock }) => {
			for (const _ of [1, 2]) {
				adapter.living()[0]?.crash();
				await clock.advance(1);
			}
		},
	},
	gone: {
		isEmpty: true,
		bring: async ({ pool, adapter, clock }) => {
			pool.resize({ min: 0 });
			adapter.workers[0]?.crash();
			await clock.advance(1_000);
		},
	},
};

for (const [state, { script, bring, isEmpty }] of Object.entries(STATES))
	for (const act of ["recycle", "restart", "recycle by force"] as const)
		test(`${act} of a worker that is ${state} ends with one that is ready, or with none where there was none`, async () => {
			const scene = await virtualPool({ commands, ...script });
			const { pool, clock, host, close, events } = scene;
			await bring(scene);
			const seen = pool.workers().map((worker) => worker.state);
			if (isEmpty) expect(seen).toEqual([]);
			else expect(seen).toContain(state);
			const twice = [1, 2].map(() =>
				outcome(
					act === "restart"
						? pool.restart("scripted-0")
						: pool.recycle("scripted-0", {
								manner: act === "recycle" ? "gentle" : "forced",
							}),
				),
			);
			const done = Promise.all(twice);
			await clock.advanceUntil(done);
			expect(await done).toMatchObject([{ kind: "value" }, { kind: "value" }]);
			await clock.advance(1_000);
			expect(pool.workers().map((worker) => worker.state)).toEqual(
				act !== "restart" && state === "gone" ? [] : ["ready"],
			);
			await close();
			expect(host.living()).toHaveLength(0);
			events.assertPaired();
		});
