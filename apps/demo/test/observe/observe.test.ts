import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePorts } from "../../src/observe/free-ports.ts";
import { listen } from "../otlp/listen.ts";
import { eventually, Observation } from "./observation.ts";

const OPEN = /^open +(http:\/\/127\.0\.0\.1:\d+\/)$/m;
const CTRL_C = /Ctrl-C ends the viewer/;

test("the demo tells the viewer, and one URL is printed where that is seen until Ctrl-C", async () => {
	const observation = new Observation("none");
	const [, url = ""] = await observation.says(OPEN);
	await observation.says(CTRL_C);
	expect(observation.output.indexOf("the demo has run")).toBeLessThan(
		observation.output.indexOf("open "),
	);
	expect(observation.output.match(/https?:/g)).toHaveLength(1);
	// One export of each signal, and the question whether anybody takes OTLP.
	expect(observation.output).toContain("2 traces, 1 metric, 1 log record");
	expect(observation.output).not.toContain("nobody wants to see");
	expect(await (await fetch(url)).text()).toContain("<title>stand-in</title>");
	expect(observation.pids("viewer")).toHaveLength(1);

	observation.child.kill("SIGINT");
	expect(await observation.ends()).toBe(0);
	expect(observation.left()).toEqual([]);
	await expect(fetch(url)).rejects.toThrow();
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
	"%s while the viewer starts ends it, and no demo begins",
	async (signal) => {
		const observation = new Observation("never listens");
		await observation.viewerStarts();
		observation.child.kill(signal);
		expect(await observation.ends()).toBe(signal);
		expect(observation.left()).toEqual([]);
		expect(observation.pids("demo")).toEqual([]);
		expect(observation.output).toBe("");
	},
);

test.each(["SIGINT", "SIGTERM"] as const)(
	"%s while the demo runs ends the demo in order, then the viewer",
	async (signal) => {
		const observation = new Observation("none", { demo: "waits" });
		await observation.says(/the demo runs/);
		observation.child.kill(signal);
		expect(await observation.ends()).toBe(signal);
		expect(observation.output).toBe("the demo runs\nthe demo heard SIGTERM\n");
		expect(observation.left()).toEqual([]);
	},
);

test("a demo that heard Ctrl-C itself is not asked again before its time is over", async () => {
	const observation = new Observation("none", {
		demo: "waits",
		ctrlC: "told_to_both",
		endWithinMs: 60_000,
	});
	await observation.says(/the demo runs/);
	const [demo = 0] = observation.pids("demo");
	observation.child.kill("SIGINT");
	// What the terminal does.
	process.kill(demo, "SIGINT");
	expect(await observation.ends()).toBe("SIGINT");
	expect(observation.output).toBe("the demo runs\n");
	expect(observation.left()).toEqual([]);
});

test("a demo that does not end is killed when its time is over twice, and signals that come again change nothing", async () => {
	const observation = new Observation("none", {
		demo: "ignores signals",
		endWithinMs: 300,
	});
	await observation.says(/the demo runs/);
	observation.child.kill("SIGTERM");
	observation.child.kill("SIGINT");
	const ended = await observation.ends();
	expect(["SIGTERM", "SIGINT"]).toContain(ended);
	expect(observation.left()).toEqual([]);
});

test("a viewer that ignores SIGTERM is killed", async () => {
	const observation = new Observation("ignores SIGTERM", { endWithinMs: 300 });
	await observation.says(CTRL_C);
	observation.child.kill("SIGTERM");
	expect(await observation.ends()).toBe(0);
	expect(observation.left()).toEqual([]);
});

test("a viewer that exits at once is told with its last lines, and no demo begins", async () => {
	const observation = new Observation("exits at once");
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toMatch(
		/^The viewer cannot be used\. .* exited with code 1 before it was ready\.$/m,
	);
	expect(observation.output).toContain("the database is broken");
	expect(observation.pids("viewer")).toHaveLength(1);
	expect(observation.pids("demo")).toEqual([]);
});

test("a viewer that never listens is given up, and no demo begins", async () => {
	const observation = new Observation("never listens", {
		startWithinMs: 1_000,
	});
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toContain("was not ready within 1000 ms");
	expect(observation.left()).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

test("where somebody took a port, others are chosen", async () => {
	const { http, grpc, page } = await takenPort();
	const observation = new Observation("none", {
		ports: [{ http, grpc, page }, await freeChoice()],
	});
	await observation.says(CTRL_C);
	expect(observation.pids("viewer")).toHaveLength(2);
	observation.child.kill("SIGINT");
	expect(await observation.ends()).toBe(0);
	expect(observation.left()).toEqual([]);
});

test("where every choice is taken, that is said", async () => {
	const taken = await takenPort();
	const observation = new Observation("none", { ports: [taken] });
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toContain(
		`listen tcp 127.0.0.1:${taken.grpc}: bind: address already in use`,
	);
	expect(observation.pids("viewer")).toHaveLength(3);
	expect(observation.left()).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

test("where the viewer cannot be installed, that is said and nothing is started", async () => {
	const observation = new Observation("not installed");
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toBe("It cannot be had here.\n");
	expect(observation.pids("viewer")).toEqual([]);
	expect(observation.pids("demo")).toEqual([]);
});

test("where the demo fails, that is said, the URL is there all the same, and the exit code is 1", async () => {
	const observation = new Observation("none", { demo: "fails" });
	await observation.says(OPEN);
	await observation.says(CTRL_C);
	expect(observation.output).toMatch(/^The demo failed with exit code 3\.$/m);
	observation.child.kill("SIGINT");
	expect(await observation.ends()).toBe(1);
	expect(observation.left()).toEqual([]);
});

test("a viewer that ends by itself while somebody looks is told with its last lines", async () => {
	const observation = new Observation("none");
	await observation.says(CTRL_C);
	const [viewer = 0] = observation.pids("viewer");
	process.kill(viewer, "SIGKILL");
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toMatch(
		/The viewer was ended by SIGKILL; its last lines:\n {2}\| .*nobody wants to see\n$/,
	);
	expect(observation.pids("viewer")).toEqual([viewer]);
	expect(observation.left()).toEqual([]);
});

test("a viewer that ends by itself while the demo runs is told afterwards, and no URL is printed", async () => {
	const observation = new Observation("none", { demo: "waits" });
	await observation.says(/the demo runs/);
	const [viewer = 0] = observation.pids("viewer");
	const [demo = 0] = observation.pids("demo");
	process.kill(viewer, "SIGKILL");
	await eventually(() => !observation.left().includes(viewer), "still there");
	process.kill(demo, "SIGTERM");
	expect(await observation.ends()).toBe(1);
	expect(observation.output).toContain("The viewer was ended by SIGKILL");
	expect(observation.output).not.toMatch(OPEN);
	expect(observation.left()).toEqual([]);
});

test("a program that is killed with SIGKILL leaves no viewer behind", async () => {
	const observation = new Observation("ignores SIGTERM");
	await observation.says(CTRL_C);
	expect(observation.left()).toHaveLength(1);
	observation.child.kill("SIGKILL");
	expect(await observation.ends()).toBe("SIGKILL");
	await eventually(() => observation.left().length === 0, "it is still there");
});

/** Ports of which one is taken: by nobody who answers. */
async function takenPort() {
	const url = await listen(createServer());
	const free = await freeChoice();
	return { ...free, grpc: Number(new URL(url).port) };
}

async function freeChoice() {
	const [http = 0, grpc = 0, page = 0] = await freePorts(3);
	return { http, grpc, page };
}
