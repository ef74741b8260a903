import { ControlClient } from "../src/control-client.ts";
import { type Served, TOKEN } from "./fake-run.ts";

/** A client of a served run. */
export function clientOf(
	{ socketPath }: Pick<Served, "socketPath">,
	token: string = TOKEN,
	silentMs: number = 5_000,
): ControlClient {
	return new ControlClient({
		run: {
			...{ runId: "abcdefg", pid: process.pid, program: "fake.ts" },
			...{ dataDir: "/nowhere", startedAtMs: 1, directory: "/nowhere" },
		},
		...{ socketPath, token, by: "a test", silentMs },
	});
}
