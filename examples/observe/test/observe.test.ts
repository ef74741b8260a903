import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { ToolError } from "@snakepit/core";
import { METRICS } from "@snakepit/telemetry";
import { expect, onTestFinished, test, vi } from "vitest";
import { isThorough, rows } from "../../../scripts/test-effort.ts";
import { guide } from "../src/observe.ts";
import { freePorts, openViewer } from "../src/viewer.ts";
import type { ViewerPorts } from "../src/viewer-adapter.ts";
import {
	DEADLINE_MS,
	eventually,
	newState,
	Observation,
	standInIn,
} from "./observation.ts";

vi.setConfig({ testTimeout: 2 * DEADLINE_MS });

const OPEN = /^open +(http:\/\/127\.0\.0\.1:\d+\/)$/m;
const CTRL_C = /Ctrl-C ends the viewer/;

/** `test` shows that the example runs and leaves nothing; what else may go wrong is for `check`. */
const inCheck = test.runIf(isThorough());

test("the demo exports to the viewer, and one URL shows that until Ctrl-C", async () => {
	const observation = new Observation("none");
	const [, url = ""] = await observation.prints(OPEN);
	await observation.prints(CTRL_C);
	expect(observation.output).toMatch(/the demo has run[\s\S]*open /);
	expect(observation.output.match(/https?:/g)).toHaveLength(1);
	expect(observation.output).toContain("1 traces, 1 metrics, 1 log records");
	expect(observation.output).not.toContain("output that nobody wants to see");
	expect(await (await fetch(url)).text()).toContain("<title>stand-in</title>");

	observation.child.kill("SIGINT");
	expect(await observation.ended).toBe(0);
	expect(observation.left).toEqual([]);
	await expect(fetch(url)).rejects.toThrow();
});

inCheck(
	"a signal while the viewer starts ends it, and no demo begins",
	async () => {
		const observation = new Observation("never listens");
		await eventually(() => observation.pids("viewer")[0], "no viewer started");
		observation.child.kill("SIGHUP");
		expect(await observation.ended).toBe("SIGHUP");
		expect(observation.left).toEqual([]);
		expect(observation.pids("demo")).toEqual([]);
		expect(observation.output).toBe("");
	},
);

test("a signal while the demo runs ends the demo with SIGTERM, then the viewer", async () => {
	const observation = new Observation("none", { demo: "waits" });
	await observation.prints(/the demo runs/);
	observation.child.kill("SIGINT");
	expect(await observation.ended).toBe("SIGINT");
	expect(observation.output).toBe("the demo runs\nthe demo got SIGTERM\n");
	expect(observation.left).toEqual([]);
});

inCheck(
	"a demo and a viewer that ignore SIGTERM are killed, and more signals change nothing",
	async () => {
		const observation = new Observation("ignores SIGTERM", {
			demo: "ignores signals",
			endWithinMs: 300,
		});
		await observation.prints(/the demo runs/);
		observation.child.kill("SIGTERM");
		observation.child.kill("SIGTERM");
		expect(await observation.ended).toBe("SIGTERM");
		expect(observation.left).toEqual([]);
	},
);

test.each(
	rows(
		[
			[
				"exits at once",
				/exited with code 1 before .*[\s\S]*the database is broken/,
			],
			["never listens", /was not ready within 1000 ms/],
		],
		([habit]) => habit === "exits at once",
	),
)("a viewer that %s is reported, and no demo begins", async (habit, why) => {
	const startWithinMs = habit === "never listens" ? 1_000 : DEADLINE_MS;
	const observation = new Observation(habit, { startWithinMs });
	expect(await observation.ended).toBe(1);
	expect(observation.output).toMatch(/^The viewer cannot be used\. /m);
	expect(observation.output).toMatch(why);
	expect(observation.pids("viewer")).toHaveLength(1);
	expect(observation.left).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

inCheck("if another program has taken a port, others are chosen", async () => {
	const observation = new Observation("none", {
		takenPorts: [await takenPorts()],
	});
	await observation.prints(CTRL_C);
	expect(observation.pids("viewer")).toHaveLength(2);
	observation.child.kill("SIGINT");
	expect(await observation.ended).toBe(0);
	expect(observation.left).toEqual([]);
});

inCheck("if every choice is taken, the port is reported", async () => {
	const taken = await takenPorts();
	const observation = new Observation("none", {
		takenPorts: [taken, taken, taken],
	});
	expect(await observation.ended).toBe(1);
	expect(observation.output).toContain(
		`listen tcp 127.0.0.1:${taken.grpc}: bind: address already in use`,
	);
	expect(observation.pids("viewer")).toHaveLength(3);
	expect(observation.left).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

test("if the viewer cannot be compiled, the reason is printed and nothing is started", async () => {
	const observation = new Observation("not compiled");
	expect(await observation.ended).toBe(1);
	expect(observation.output).toBe("It cannot be compiled here.\n");
	expect(observation.pids("viewer")).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

inCheck(
	"if the demo fails, the URL is printed all the same, and the exit code is 1",
	async () => {
		const observation = new Observation("none", { demo: "fails" });
		await observation.prints(OPEN);
		await observation.prints(CTRL_C);
		expect(observation.output).toMatch(/^The demo failed with exit code 3\.$/m);
		observation.child.kill("SIGINT");
		expect(await observation.ended).toBe(1);
		expect(observation.left).toEqual([]);
	},
);

inCheck(
	"a viewer that dies later is reported with its last output, and not replaced",
	async () => {
		const observation = new Observation("none");
		await observation.prints(CTRL_C);
		const [viewer = 0] = observation.pids("viewer");
		process.kill(viewer, "SIGKILL");
		expect(await observation.ended).toBe(1);
		expect(observation.output).toMatch(
			/The viewer was ended by SIGKILL; its last output:\n {2}\| .*nobody wants to see\n$/,
		);
		expect(observation.pids("viewer")).toEqual([viewer]);
		expect(observation.left).toEqual([]);
	},
);

inCheck(
	"a viewer that dies while the demo runs is reported after the demo, and no URL is printed",
	async () => {
		const observation = new Observation("none", { demo: "waits" });
		await observation.prints(/the demo runs/);
		const [viewer = 0] = observation.pids("viewer");
		const [demo = 0] = observation.pids("demo");
		process.kill(viewer, "SIGKILL");
		await eventually(() => !observation.left.includes(viewer), "still there");
		process.kill(demo, "SIGTERM");
		expect(await observation.ended).toBe(1);
		expect(observation.output).toContain("The viewer was ended by SIGKILL");
		expect(observation.output).not.toMatch(OPEN);
		expect(observation.left).toEqual([]);
	},
);

test("kill -9 of the program leaves no viewer", async () => {
	const observation = new Observation("ignores SIGTERM");
	await observation.prints(CTRL_C);
	expect(observation.left).toHaveLength(1);
	observation.child.kill("SIGKILL");
	expect(await observation.ended).toBe("SIGKILL");
	await eventually(() => observation.left.length === 0, "it is still there");
});

inCheck(
	"the demo itself exports all three signals, and is shown until Ctrl-C",
	async () => {
		const observation = new Observation("none", { demo: "is real" });
		// The first run makes a Python environment.
		await observation.prints(CTRL_C, 3 * DEADLINE_MS);
		const { output } = observation;
		expect(output).toMatch(/^left +0 processes/m);
		expect(output).toMatch(
			/^telemetry +sent {2}to http:\/\/127\.0\.0\.1:\d+$/m,
		);
		expect(output).toMatch(
			/^in all +[1-9]\d* traces, [1-9]\d* metrics, [1-9]\d* log records, /m,
		);
		observation.child.kill("SIGINT");
		expect(await observation.ended).toBe(0);
		expect(observation.left).toEqual([]);
	},
	4 * DEADLINE_MS,
);

test("the viewer's JSON-RPC answers in the pool's terms", async () => {
	const state = newState();
	vi.stubEnv("XDG_STATE_HOME", state);
	onTestFinished(() => void vi.unstubAllEnvs());
	await using viewer = await openViewer({
		executable: standInIn(state),
		startWithinMs: DEADLINE_MS,
		endWithinMs: DEADLINE_MS,
		stop: new AbortController().signal,
	});
	const unknown = viewer.pool.execute("getLog", ["1"]);
	await expect(unknown).rejects.toBeInstanceOf(ToolError);
	await expect(unknown).rejects.toThrow(
		"The viewer answers getLog with error -32601: method not found",
	);
	expect(await viewer.pool.execute("getStats", [])).toMatchObject({
		traces: { traceCount: 0 },
	});
});

test("the guide names metrics that exist", () => {
	const lines = guide("http://127.0.0.1:1/", {
		traces: { traceCount: 1_797 },
		metrics: { metricCount: 12 },
		logs: { logCount: 20 },
	});
	const named = lines.join(" ").match(/snakepit\.[\w.]+/g) ?? [];
	expect(named.length).toBeGreaterThan(0);
	expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(named));
});

/** Ports of which one is taken by a program that does not answer. */
async function takenPorts(): Promise<ViewerPorts> {
	const server = createServer().listen(0, "127.0.0.1");
	onTestFinished(() => void server.close());
	await once(server, "listening");
	const { port: grpc } = server.address() as AddressInfo;
	return { ...(await freePorts()), grpc };
}
