import { ControlClient } from "../src/control-client.ts";
import { type Served, TOKEN } from "./fake-run.ts";

/** A client of a served run. */
export function clientOf(
	{ socketPath }: Served,
	token: string = TOKEN,
): ControlClient {
	return new ControlClient({
		run: {
			...{ runId: "abcdefg", pid: process.pid, program: "fake.ts" },
			...{ dataDir: "/nowhere", startedAtMs: 1, directory: "/nowhere" },
		},
		...{ socketPath, token, by: "a test", silentMs: 5_000 },
	});
}
