// A program that is bundled: one call to a pool whose worker is `cat`. Without
// `await` at its top level, so that it can be made CommonJS.
import { once } from "node:events";
import { createPool } from "@snakepit/core";
import type { Adapter } from "@snakepit/core/adapter";

const adapter: Adapter = {
	name: "cat",
	launch: () => ({ executable: "cat", stdio: "adapter" }),
	connect: async ({ stdin, stdout }) => ({
		execute: async (_command, args) => {
			stdin?.write(JSON.stringify(args));
			const [echo] = await once(stdout ?? process.stdin, "data");
			return JSON.parse(String(echo));
		},
		leave: async () => void stdin?.end(),
		[Symbol.asyncDispose]: async () => {},
	}),
};

async function main(dataDir: string | undefined): Promise<void> {
	const pool = await createPool({ adapter, size: 1, dataDir });
	console.log(await pool.execute("echo", { answer: 42 }));
	await pool.close();
}

main(process.argv[2]).catch((error: unknown) => {
	const { code, message } = error as Error & { code?: string };
	console.log(`${code}: ${message}`);
	process.exitCode = 1;
});
