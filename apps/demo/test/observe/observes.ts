// Observes a stand-in for the demo with a stand-in for the viewer, as its first argument says.
import { join } from "node:path";
import { paintLine, unpainted } from "../../src/line.ts";
import { observe } from "../../src/observe/observe.ts";
import { StopRequest } from "../../src/observe/stop-request.ts";
import type { Settings } from "./observation.ts";

const {
	executable,
	demo = "ends",
	startWithinMs = 30_000,
	endWithinMs = 10_000,
	ports = [],
	ctrlC = "told_to_us",
} = JSON.parse(process.argv[2] ?? "") as Settings;
const choices = [...ports];
const stop = new StopRequest();
const outcome = await observe(
	{
		viewer: async () =>
			executable === undefined
				? { kind: "failed", problem: "It cannot be had here." }
				: { kind: "installed", executable },
		starting: {
			startWithinMs,
			endWithinMs,
			...(ports.length > 0 && {
				ports: async () => choices.shift() ?? ports[0],
			}),
		} as never,
		demo: {
			command:
				demo === "is real"
					? [join(import.meta.dirname, "../../src/main.ts")]
					: [join(import.meta.dirname, "stand-in-demo.ts"), demo],
			endWithinMs,
			ctrlC,
		},
		show: (line) => console.log(paintLine(line, unpainted)),
	},
	stop,
).finally(() => stop[Symbol.dispose]());
if (typeof outcome === "number") process.exitCode = outcome;
else process.kill(process.pid, outcome);
