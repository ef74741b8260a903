import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { attach } from "@snakepit/control";
import { describe, expect, onTestFinished, test } from "vitest";
import {
	type ControlledHost,
	controlledHost,
} from "../../../core/test/control/controlled-host.ts";
import { hostOfTest } from "../dash/inspected-host.ts";
import { type Ended, SNAKEPIT_IN_NODE } from "../run/started.ts";

const ALL = { scopes: ["read", "logs", "act", "call"] } as const;

interface Started {
	/** Resolves when standard output has it. */
	shows(text: RegExp | string): Promise<void>;
	readonly end: Promise<Ended>;
	readonly child: ChildProcess;
}

/** Starts the command without standard input, for the runs of one directory. */
function started(
	{ dataDir }: Pick<ControlledHost, "dataDir">,
	...args: readonly string[]
): Started {
	const [program, ...before] = SNAKEPIT_IN_NODE;
	const child = spawn(program, [...before, ...args, "--data-dir", dataDir], {
		stdio: ["ignore", "pipe", "pipe"],
	});
	onTestFinished(() => void child.kill("SIGKILL"));
	const texts = { stdout: "", stderr: "" };
	for (const name of ["stdout", "stderr"] as const)
		child[name].on("data", (text) => {
			texts[name] += text;
		});
	const end = once(child, "close").then(([status]) => ({ status, ...texts }));
	const shows = async (text: RegExp | string): Promise<void> => {
		const isShown = (): boolean =>
			typeof text === "string"
				? texts.stdout.includes(text)
				: text.test(texts.stdout);
		while (!isShown()) {
			if (child.stdout.readableEnded)
				throw new Error(`It ended without ${text}: ${JSON.stringify(texts)}`);
			await Promise.race([once(child.stdout, "data"), end]);
		}
	};
	return { shows, end, child };
}

function snakepit(...what: Parameters<typeof started>): Promise<Ended> {
	return started(...what).end;
}

describe("of a living run", () => {
	test("top shows it once, logs its lines, tools what it can; call and acts do what they say", async () => {
		const host = await controlledHost({ control: ALL });
		const shown = await snakepit(host, "top", "--once");
		expect(shown.status, shown.stderr).toBe(0);
		const [verdict, , about, pool, calls] = shown.stdout.split("\n");
		expect(verdict).toBe(
			"1 program runs with 1 pool: 2 workers ready, 0 busy; no call waits.",
		);
		expect(about).toMatch(
			new RegExp(
				`^host-program.ts \\(pid ${host.child.pid}\\), run ${host.runId}, open for .*: lives$`,
			),
		);
		expect(pool).toBe(
			"lines: idle; 2 of 2 ready, 0 busy, 0 waiting, 0 restarts (lines)",
		);
		expect(calls).toBe("  calls: 0 running, 0 done, 0 failed");
		expect(shown.stdout).toMatch(/^ {2}WORKER +STATE +PID +MEMORY/m);
		expect(shown.stdout).toMatch(/^ {2}lines-0 +ready +\d+ +\d+ MB/m);

		const [state = ""] = (
			await snakepit(host, "top", "--once", "--json")
		).stdout.split("\n");
		expect(JSON.parse(state)).toMatchObject({ run: { runId: host.runId } });
		expect((await snakepit(host, "tools")).stdout).toBe(
			"sleep()\n    Waits.\n",
		);
		const echo = ["call", "echo", "numbers=[1,2]", "name=x=y", "--json"];
		expect((await snakepit(host, ...echo)).stdout).toBe(
			'{"numbers":[1,2],"name":"x=y"}\n',
		);
		expect(await snakepit(host, "restart", "lines-0", "--json")).toMatchObject({
			...{
				status: 0,
				stdout: '{"done":"restart","pool":"lines","worker":"lines-0"}\n',
			},
		});
		for (const act of [
			["pause"],
			["resume"],
			["resize", "--max", "3"],
			["recycle", "all", "--forced"],
		])
			expect(await snakepit(host, ...act)).toMatchObject({ status: 0 });

		const follow = ["logs", "-f", "--worker", "lines-0", "--json"];
		const lines = started(host, ...follow);
		await lines.shows('{"kind":"following"}');
		for (const _ of ["lines-0", "lines-1"]) host.call("print", 3);
		await lines.shows(/line 2/);
		lines.child.kill("SIGINT");
		await lines.end;
		const kept = await snakepit(host, "logs", "--worker", "lines-0");
		expect(kept.stdout).toMatch(
			/^(?:\d{4}-\d\d-\d\d [\d:]{8}\.\d{3} lines-0 c\d+ line [012]\n){3,}$/,
		);
		const last = await snakepit(host, "logs", "--tail", "1", "--json");
		expect(last).toMatchObject({
			...{ status: 0, stdout: expect.stringMatching(/"text":"line 2"/) },
		});
		expect(
			await snakepit(host, "logs", "--since", "1d", "--call", "c999"),
		).toMatchObject({
			...{ status: 0, stdout: "" },
			stderr: `snakepit: run ${host.runId} of host-program.ts has no such output.\n`,
		});
		expect(await snakepit(host, "kill")).toMatchObject({
			stdout: "kill: lines, done\n",
		});
	}, 90_000);

	test("health tells by its exit status whether a program is ready or live", async () => {
		const host = await controlledHost({ control: ALL });
		expect(await snakepit(host, "health")).toEqual({
			...{ status: 0, stdout: "live, ready.\n", stderr: "" },
		});
		expect(await snakepit(host, "pause")).toMatchObject({ status: 0 });
		expect(await snakepit(host, "health")).toEqual({
			...{ status: 1, stderr: "" },
			stdout:
				"live, not ready: Pool lines is paused, and 0 calls wait. (PAUSED)\n",
		});
		const live = await snakepit(host, "health", "--live", "--json");
		expect(live.status).toBe(0);
		expect(JSON.parse(live.stdout)).toMatchObject({ live: true, ready: false });
		// Of several programs each has to be ready.
		const { dataDir } = host;
		const other = await controlledHost({ control: ALL, dataDir });
		expect(await snakepit(host, "health")).toMatchObject({ status: 1 });
		other.child.kill("SIGKILL");
		await other.exited();
		const { status } = await snakepit(host, "health", "--pool", "nemo");
		expect(status).toBe(3);
		host.child.kill("SIGSTOP");
		expect(await snakepit(host, "health")).toMatchObject({ status: 4 });
		host.child.kill("SIGKILL");
		await host.exited();
		expect(await snakepit(host, "health")).toMatchObject({ status: 3 });
	}, 90_000);

	test("each failure has its exit status, and says what to do", async () => {
		const host = await controlledHost({ control: true });
		for (const [args, status, message] of [
			[
				["pause"],
				5,
				/needs the scope "act".*control: \{ scopes: \["read", "logs", "act"\] \}/,
			],
			[
				["restart", "lines-7"],
				3,
				/has no worker lines-7; it has lines-0, lines-1/,
			],
			[["tools", "--pool", "nemo"], 3, /There is no pool "nemo"/],
			[["top", "--run", "zzz"], 3, /No run "zzz" can be shown\..*snakepit ps/],
			[
				["logs", "-f", "--worker", "lines-7"],
				3,
				/has no worker lines-7; it has lines-0, lines-1/,
			],
			[["call", "echo", "numbers"], 2, /key=value/],
			[["resize", "--max", "many"], 2, /not a whole number/],
			[["resize"], 2, /Set --min, --max or both/],
			[["recycle"], 2, /missing required argument/],
		] as const) {
			const ended = await snakepit(host, ...args);
			expect(ended, ended.stderr).toMatchObject({
				...{ status, stdout: "", stderr: expect.stringMatching(message) },
			});
		}
		host.child.kill("SIGSTOP");
		expect(await snakepit(host, "tools")).toMatchObject({
			...{ status: 4, stderr: expect.stringContaining("has not answered") },
		});
		host.child.kill("SIGKILL");
		await host.exited();
		expect(await snakepit(host, "top")).toMatchObject({ status: 3 });
	}, 90_000);

	test("a call of a pool that is named needs no scope but its own", async () => {
		const host = await controlledHost({ control: { scopes: ["call"] } });
		const call = ["call", "echo", "a=1", "--pool", "lines", "--json"];
		expect(await snakepit(host, ...call)).toMatchObject({
			...{ status: 0, stdout: '{"a":1}\n' },
		});
	}, 90_000);

	test("outside of a terminal top says each new verdict on a line, and fails when its program is killed", async () => {
		const host = await controlledHost({ control: true });
		const top = started(host, "top");
		await top.shows(
			/^\S+Z 1 program runs .* 2 workers ready, 0 busy; no call waits\.\n/,
		);
		for (let made = 0; made < 3; made++) host.call("sleep", 600_000);
		await top.shows(/Z 1 program runs .*lines: 1 call waits, both are busy/);
		host.child.kill("SIGKILL");
		expect(await top.end).toMatchObject({
			...{ status: 1, stderr: expect.stringContaining("HOST_GONE") },
		});
	}, 90_000);

	test("drain says what it has cut", async () => {
		const host = await controlledHost({ control: ALL });
		for (let made = 0; made < 3; made++) host.call("sleep", 600_000);
		await started(host, "top").shows(/1 call waits/);
		const drained = await snakepit(host, "drain", "--within", "0");
		expect(drained, drained.stderr).toMatchObject({ status: 1, stderr: "" });
		expect(drained.stdout).toMatch(
			/^drain: lines, done\n3 calls cut \(2 running, 1 waiting\):\n {2}sleep, running on lines-\d for \S+ m?s \(call \S+\)\n {2}sleep, running on .*\n {2}sleep, waiting for \S+ m?s \(call \S+\)\n$/,
		);
	}, 90_000);
});

test("a tool that streams is called as such: its items are printed, and no call has failed", async () => {
	const control = { scopes: ["read", "call"] } as const;
	const host = await hostOfTest({ control, pool: { size: 1 } });
	const call = async (...args: readonly string[]) => {
		const { status, stdout, stderr } = await snakepit(
			host,
			"call",
			...args,
			"--json",
		);
		expect(status, stderr).toBe(0);
		return JSON.parse(stdout);
	};
	expect(await call("countdown", "start=3")).toEqual([3, 2, 1]);
	expect(await call("mean", "numbers=[1,2]")).toBe("1.5 m");
	using client = await attach({ dataDir: host.dataDir });
	const { run } = await client.state();
	expect(run.pools[0]?.calls).toMatchObject({
		...{ succeeded: 2, failed: 0 },
	});
}, 90_000);
