// A program that is bundled, and asks for protections whose programs are files.
import { createPool, type SnakepitEvent } from "@snakepit/core";
import { doctor } from "@snakepit/core/inspect";
import { watchdog } from "@snakepit/watchdog";

async function main(dataDir: string | undefined): Promise<void> {
	const reported: object[] = [];
	const protections = [watchdog()];
	const layers = await doctor({ dataDir, protections });
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
		dataDir,
		protections,
		onEvent: (event: SnakepitEvent) => {
			if (event.type === "protection.unavailable")
				reported.push({ protection: event.protection, reason: event.reason });
		},
	});
	const answer = await pool.execute("any", {});
	await pool.close({ drainMs: 0 });
	const missing = layers.filter(({ layer }) => /watchdog|guard/.test(layer));
	console.log(JSON.stringify({ answer, reported, missing }));
}

void main(process.argv[2]);
