/** A program that is run under Node's permission model; see permission-model.test.ts. */
import { createPool } from "../../src/run/open-run.ts";

try {
	const pool = await createPool({
		adapter: {
			name: "sleeper",
			launch: () => ({ executable: "sleep", args: ["1000"] }),
			connect: async () => ({
				execute: async () => "answered",
				[Symbol.asyncDispose]: async () => {},
			}),
		},
		size: 1,
		dataDir: process.argv[2],
	});
	console.log(await pool.execute("any", {}));
	await pool.close({ drainMs: 0 });
} catch (error) {
	const { code, message } = error as NodeJS.ErrnoException;
	console.log(code, message);
}
