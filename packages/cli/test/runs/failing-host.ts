// A host whose calls fail: "up" is printed when they have, and it ends with its input. Its argument is the directory of the ledger.
import { createPool } from "@snakepit/core";

const [, , dataDir] = process.argv;
const pool = await createPool({
	adapter: {
		name: "printer",
		launch: () => ({ executable: "sleep", args: ["100000"] }),
		connect: async () => ({
			execute: async (command) => {
				if (command === "wait") return await new Promise(() => {});
				throw new Error("no paper\n\u001b[31mtray 2");
			},
			[Symbol.asyncDispose]: async () => {},
		}),
	},
	...{ size: 1, heartbeat: "off", dataDir },
	observe: { args: (_, args) => args },
});
for (let copy = 0; copy < 7; copy++)
	await pool.execute("print", { copy }).catch(() => {});
await pool.execute("wait", undefined, { timeoutMs: 20 }).catch(() => {});
console.log("up");
for await (const _ of process.stdin);
await pool.close({ manner: "forced" });
