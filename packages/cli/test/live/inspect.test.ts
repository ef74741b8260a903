/** `snakepit inspect`: a run, a worker and a call, while their program lives and after it was killed. */
import { expect, test } from "vitest";
import {
	type ControlledHost,
	controlledHost,
} from "../../../core/test/control/controlled-host.ts";
import { snakepit } from "../run/started.ts";

function inspect({ dataDir }: ControlledHost, ...args: readonly string[]) {
	return snakepit(["inspect", ...args, "--data-dir", dataDir]);
}

function json(host: ControlledHost, id: string) {
	const { status, stdout, stderr } = inspect(host, id, "--json");
	expect(status, stderr).toBe(0);
	return JSON.parse(stdout);
}

test("an id is found in the living program and in the ledger, and in the ledger alone when the program is dead", async () => {
	const host = await controlledHost({ control: true });
	const { runId } = host;
	const client = await host.client();
	host.call("print", 2);
	host.call("fail", 0);
	host.call("sleep", 600_000);
	await expect
		.poll(async () => {
			const { run } = await client.state();
			const [pool] = run.pools;
			return [pool?.calls.failed, pool?.calls.succeeded, pool?.calls.running];
		})
		.toEqual([1, 1, 1]);
	const { run } = await client.state();
	const [busy] = (run.pools[0]?.workers ?? []).filter(
		({ running }) => running.length > 0,
	);

	expect(json(host, runId.slice(0, 5))).toMatchObject({
		...{ kind: "run", run: { runId, state: "running" }, notes: [] },
		...{ live: { runId }, recorded: { runId }, verdict: expect.any(String) },
	});
	expect(json(host, "c3")).toMatchObject({
		...{ kind: "call", pool: "lines", callId: "c3", failed: null },
		live: {
			...{ command: "sleep", workerId: busy?.workerId, attempt: 1 },
			args: { for: 600_000 },
		},
	});
	const worker = json(host, busy?.incarnation ?? "");
	expect(worker).toMatchObject({
		...{ kind: "worker", pool: "lines", workerId: busy?.workerId },
		live: [{ pid: busy?.pid, running: [{ callId: "c3" }] }],
		recorded: [{ incarnation: busy?.incarnation }],
	});
	const printed = json(host, "lines/c1");
	expect(printed).toMatchObject({
		...{ kind: "call", live: null },
		lines: [{ text: "line 0" }, { text: "line 1" }],
	});
	const failed = json(host, "c2");
	expect(failed).toMatchObject({
		failed: {
			command: "fail",
			code: "TOOL_FAILED",
			message: expect.stringContaining("asked to"),
		},
	});
	expect(inspect(host, "c3").stdout).toMatch(
		new RegExp(
			`^call c3 of pool lines, run ${runId} \\(running\\) of host-program\\.ts \\(pid ${host.child.pid}\\)\\n  runs sleep on ${busy?.workerId} for .*, attempt 1\\n {4}arguments: {"for":600000}\\n$`,
		),
	);
	expect(inspect(host, busy?.workerId ?? "").stdout).toMatch(
		/^worker lines-\d of pool lines, run .*\n {2}\S+ \(pid \d+\): busy with 1 call, up for .*, \d calls? taken\n {4}runs sleep \(c3\) for .*\n {6}arguments: {"for":600000}\n/,
	);
	const nothing = inspect(host, "c999");
	expect(nothing).toMatchObject({ status: 3, stdout: "" });
	expect(nothing.stderr).toMatch(/Nothing is known of "c999"/);
	expect(inspect(host, runId.slice(0, 2)).stderr).toMatch(
		/Of the id of a run, at least 3 characters are needed\./,
	);

	host.child.kill("SIGKILL");
	await host.exited();
	expect(json(host, busy?.workerId ?? "")).toMatchObject({
		...{ kind: "worker", run: { state: "host_died" }, live: [], lines: [] },
		recorded: [{ workerId: busy?.workerId }],
	});
	expect(json(host, "c2")).toMatchObject({
		...{ live: null, failed: { code: "TOOL_FAILED" } },
	});
	const text = inspect(host, runId).stdout;
	expect(text).toMatch(
		/^run \S+ \(host died\) of host-program\.ts \(pid \d+\): died\. /,
	);
	expect(text).toMatch(/1 failed call recorded/);
	const again = await controlledHost({ control: true, dataDir: host.dataDir });
	expect(inspect(again, "lines-0").stdout).toMatch(
		new RegExp(
			`^worker lines-0 of pool lines, run ${again.runId} .*\nThe same id is in 1 older run too: ${runId}\\. Choose with --run\\.\n$`,
			"s",
		),
	);
}, 90_000);

test("of a program that is stopped, inspect says so, and of many that failed how many there were; logs without a line says that", async () => {
	const host = await controlledHost({
		control: { scopes: ["read", "logs"] },
	});
	const { child, dataDir, runId } = host;
	const logs = snakepit(["logs", "--data-dir", dataDir]);
	expect(logs).toMatchObject({
		...{ status: 0, stdout: "" },
		stderr: `snakepit: run ${runId} of host-program.ts has no output yet: its workers have printed and logged nothing.\n`,
	});
	const client = await host.client();
	for (let n = 0; n < 40; n++) host.call("fail", 0);
	await expect
		.poll(async () => (await client.state()).run.pools[0]?.calls.failed)
		.toBe(40);
	expect(inspect(host, runId).stdout).toMatch(
		/, 40 calls failed, of the last \d{1,2} a record is kept\n/,
	);
	expect(inspect(host, "c999").stderr).toMatch(
		/Only the last 500 failed calls of a run are kept/,
	);
	child.kill("SIGSTOP");
	const stopped = new RegExp(
		`^run ${runId} \\(stopped\\) of host-program\\.ts \\(pid ${child.pid}\\): host-program\\.ts \\(pid ${child.pid}\\) is stopped .* Continue it: kill -CONT ${child.pid}\\.\n`,
	);
	await expect.poll(() => inspect(host, runId).stdout).toMatch(stopped);
	expect(inspect(host, "lines-0").stdout).toMatch(
		/^worker lines-0 of pool lines, run \w{7} \(stopped\) .*\n(.*\n)*host-program\.ts \(pid \d+\) is stopped /,
	);
}, 90_000);
