import { join } from "node:path";
import { expect, test } from "vitest";
import { testPython } from "../../../scripts/python-environment.ts";
import { isThorough } from "../../../scripts/test-effort.ts";
import { pooled } from "./pooled.ts";

const python = isThorough()
	? testPython({
			name: "servers",
			requirements: [
				"granian==2.8.9",
				"gunicorn==27.0.1",
				"hypercorn==0.18.0",
				"uvicorn==0.54.0",
				"uvicorn-worker==0.4.0",
			],
		})
	: undefined;

/** Server and arguments, and how many processes have hooks. */
const SERVERS = [
	["uvicorn", ["--uds", "{socket}"], 1],
	["uvicorn", ["--uds", "{socket}", "--workers", "2"], 2],
	["hypercorn", ["--bind", "unix:{socket}"], 1],
	["granian", ["--interface", "asgi", "--uds", "{socket}"], 1],
	[
		"granian",
		["--interface", "asgi", "--uds", "{socket}", "--workers", "2"],
		2,
	],
	[
		"gunicorn",
		[
			...["--bind", "unix:{socket}", "--workers", "2"],
			...["--worker-class", "uvicorn_worker.UvicornWorker"],
		],
		2,
	],
] as const;

// docs/decisions/0043: with SIGTERM for its whole group, hypercorn loses its worker before that has run its hook.
test.runIf(python).each(SERVERS)(
	"%s %j runs the hooks of all its %i processes when its pool closes",
	async (server, args, hooks) => {
		const { pool, events } = await pooled({
			command: [python ?? "", "-m", server, "lifespan:app", ...args],
			cwd: join(import.meta.dirname, "programs"),
			ready: "/",
		});
		await pool.execute("GET /");
		await pool.close();
		const ran = events
			.of("worker.output")
			.filter(({ line }) => line === "its hook ran");
		expect(ran).toHaveLength(hooks);
		const steps = events.of("worker.stop_step");
		expect(steps[0]).toMatchObject({ step: "terminate", sent: 1 });
		// Python's resource tracker may live a moment longer than its server, and is swept.
		expect(steps).not.toContainEqual(expect.objectContaining({ step: "kill" }));
	},
);
