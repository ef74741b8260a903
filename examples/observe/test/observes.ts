// Runs `observe` with a stand-in for the viewer and one for the demo, as its first argument says.
import { join } from "node:path";
import { CompileError } from "../src/compile-viewer.ts";
import { observe } from "../src/observe.ts";
import { freePorts } from "../src/viewer.ts";
import type { Settings } from "./observation.ts";

const {
	executable,
	demo = "ends",
	startWithinMs = 120_000,
	endWithinMs = 120_000,
	takenPorts = [],
}: Settings = JSON.parse(process.argv[2] ?? "");
const choices = [...takenPorts];
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
	process.on(signal, () => stop.abort(signal));
const alive = setInterval(() => {}, 60_000);
const outcome = await observe(
	{
		findViewer: async () => {
			if (executable !== undefined) return executable;
			throw new CompileError("It cannot be compiled here.");
		},
		startWithinMs,
		endWithinMs,
		ports: async () => choices.shift() ?? (await freePorts()),
		demo:
			demo === "is real"
				? [join(import.meta.dirname, "../../../apps/demo/src/main.ts")]
				: [join(import.meta.dirname, "stand-in-demo.ts"), demo],
		demoEndsWithinMs: endWithinMs,
		print: console.log,
	},
	stop.signal,
);
clearInterval(alive);
process.removeAllListeners();
if (typeof outcome === "number") process.exitCode = outcome;
else process.kill(process.pid, outcome);
