/** A host in a control group of little memory, and a worker that takes all of it; see out-of-memory.test.ts. */
import { createPool } from "../../src/run/open-run.ts";

const [dataDir] = process.argv.slice(2);
const died = Promise.withResolvers<void>();
await using _pool = await createPool({
	...{ dataDir, name: "greedy", size: 1, heartbeat: "off" },
	start: { maxRestarts: 0 },
	adapter: {
		name: "greedy",
		// It keeps the last line, which has no end.
		launch: () => ({ executable: "tail", args: ["/dev/zero"] }),
		connect: async () => ({
			execute: async () => undefined,
			[Symbol.asyncDispose]: async () => {},
		}),
	},
	onEvent: (event) => {
		if (event.type === "worker.exited") died.resolve();
	},
});
const alive = setInterval(() => {}, 2 ** 30);
await died.promise;
clearInterval(alive);
