/** What the commands say while a program has a fault, and after it. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../../core/test/cleanup/hosts.ts";
import { hostOfTest, type InspectedHost } from "../dash/inspected-host.ts";
import {
	DEADLINE_MS,
	ps,
	psSays,
	type Shown,
	snakepit,
	until,
} from "./shown.ts";

const WELL = /^1 program runs with 1 pool: \d workers? ready, 0 busy/;
const TIME = "\\d\\d:\\d\\d:\\d\\d";

/** A command about the program's run. */
const of = (
	{ dataDir, runId }: InspectedHost,
	command: string,
	...args: readonly string[]
): Promise<Shown> =>
	snakepit([command, ...args, "--run", runId, "--data-dir", dataDir]);

interface Standstill {
	readonly type: string;
	readonly kind: string;
	readonly wallMs: number;
	readonly sinceWallMs: number;
	readonly durationMs: number;
}

/** The standstills of a kind among its incidents, when there is one. On a busy machine there may be others. */
async function standstills(
	host: InspectedHost,
	wanted: string,
): Promise<readonly Standstill[]> {
	const look = async (): Promise<readonly Standstill[]> => {
		const { stdout } = await of(host, "incidents", "--json");
		const all = JSON.parse(stdout) as readonly Standstill[];
		return all.filter(
			({ type, kind }) => type === "host.stood_still" && kind === wanted,
		);
	};
	return await until(look, ({ length }) => length > 0);
}

test(
	"a stop by SIGSTOP is in incidents and history after SIGCONT, also when the program was killed later",
	async () => {
		const host = await hostOfTest({ pool: { size: 1 } });
		const before = Date.now();
		host.child.kill("SIGSTOP");
		const stoppedAt = performance.now();
		// A shorter stop is none.
		const stopped = await until(
			() => ps(host),
			({ first }) =>
				first.includes("is stopped") && performance.now() - stoppedAt > 4_000,
		);
		expect(stopped.status).toBe(1);
		expect(stopped.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid ${host.pid}\\) is stopped .* Continue it: kill -CONT ${host.pid}\\.$`,
			),
		);
		host.child.kill("SIGCONT");
		const [standstill, ...more] = await standstills(host, "stopped");
		expect(more).toEqual([]);
		// It looks once a second.
		expect(standstill?.durationMs).toBeGreaterThan(2_900);
		// A busy machine may have been late by then.
		expect(standstill?.sinceWallMs).toBeGreaterThan(before - 2_000);
		expect(standstill?.wallMs).toBeLessThanOrEqual(Date.now());
		expect((await psSays(host, WELL)).status).toBe(0);
		const line = new RegExp(
			`the program was stopped for \\d.* s, from ${TIME} to ${TIME}, by SIGSTOP or Ctrl-Z\n`,
		);
		const commands = ["incidents", "history"] as const;
		for (const command of commands)
			expect((await of(host, command)).stdout).toMatch(line);
		await host.killed();
		for (const command of commands)
			expect((await of(host, command)).stdout).toMatch(line);
	},
	DEADLINE_MS,
);

test(
	"a blocked event loop: ps and top say so meanwhile, and incidents later",
	async () => {
		const host = await hostOfTest({ pool: { size: 1 } });
		const over = join(temporaryDirectory(), "over");
		host.blockUntil(over);
		const blocked = await psSays(host, /event loop is blocked/);
		expect(blocked.status).toBe(1);
		expect(blocked.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid ${host.pid}\\) has not answered for \\S+ s, and is not stopped: its event loop is blocked\\. See where: node inspect -p ${host.pid}`,
			),
		);
		expect(blocked.stdout).toMatch(/ - +does not answer +- /);
		expect((await of(host, "top", "--once")).first).toMatch(
			/^host-program\.ts .* is not stopped: its event loop is blocked\./,
		);
		writeFileSync(over, "");
		expect((await psSays(host, WELL)).status).toBe(0);
		expect(await of(host, "health")).toMatchObject({
			...{ status: 0, stdout: "live, ready.\n" },
		});
		await standstills(host, "blocked");
		expect((await host.tell()).metrics).toMatch(
			/^snakepit_host_standstills_total\{snakepit_reason="blocked"\} [1-9]/m,
		);
		expect((await of(host, "incidents")).stdout).toMatch(
			new RegExp(
				`the event loop was blocked for .* s, from ${TIME} to ${TIME}; the program used the processor for .*s of that\n`,
			),
		);
	},
	DEADLINE_MS,
);

test(
	"a ledger that cannot be written: ps, the metrics and the event say so, the pool serves, and what is missing is written later",
	async () => {
		const place = temporaryDirectory();
		const dataDir = join(place, "state");
		const host = await hostOfTest({
			...{ dataDir, pool: { size: 1 }, audit: { intervalMs: 200 } },
		});
		const unwritten = (metrics: string): number =>
			Number(/^snakepit_registry_unwritten\S* (\d+)$/m.exec(metrics)?.[1]);
		expect(unwritten((await host.tell()).metrics)).toBe(0);
		renameSync(dataDir, join(place, "away"));
		// No user, not even root, can make a directory where a file is.
		writeFileSync(dataDir, "in the way");
		host.call("crash");
		const look = () => snakepit(["ps", "--run", host.runId]);
		const seen = await until(
			look,
			({ stdout }) =>
				/ledger cannot be written/.test(stdout) && / 1\/1 /.test(stdout),
		);
		expect(seen.status).toBe(1);
		expect(seen.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid ${host.pid}\\): The ledger cannot be written: \\d+ records? of workers (is|are) only in memory\\. Look at the free space and the permissions of ${dataDir}; `,
			),
		);
		const told = await host.tell();
		expect(told.health).toEqual({ live: true, ready: true, reasons: [] });
		expect(unwritten(told.metrics)).toBeGreaterThan(0);
		expect(told.events).toContainEqual(
			expect.objectContaining({
				...{ type: "registry.degraded", code: "REGISTRY_UNWRITABLE" },
				message: expect.stringContaining(dataDir),
			}),
		);
		rmSync(dataDir);
		const well = await until(look, ({ first }) => WELL.test(first));
		expect(well.status).toBe(0);
		const later = await host.tell();
		expect(unwritten(later.metrics)).toBe(0);
		expect(later.events.map(({ type }) => type)).toContain(
			"registry.recovered",
		);
		await until(
			() => of(host, "incidents"),
			({ stdout }) => / tools-0 \(pid \d+\) ended by SIGSEGV/.test(stdout),
		);
	},
	DEADLINE_MS,
);

test(
	"a crash loop: what the start lacks, the budget, the next start; by what ps proposes it is well again",
	async () => {
		const place = temporaryDirectory();
		const volume = join(place, "volume");
		writeFileSync(volume, "");
		const host = await hostOfTest({
			env: { SNAKEPIT_TEST_VOLUME: volume },
			pool: { size: 1, start: { maxRestarts: 3, backoffMs: 10 } },
			control: { scopes: ["read", "act", "call"] },
		});
		renameSync(volume, `${volume}~`);
		host.call("crash");
		const looping = await psSays(host, /All 3 restarts of 60 s are spent/);
		expect(looping.status).toBe(1);
		expect(looping.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid \\d+\\), tools: crash loop, 0 of 1 worker ready: tools-0 .*FileNotFoundError.*volume\\S* All 3 restarts of 60 s are spent, the next start is in \\d+ s; .* Mend what the error names, then: snakepit restart --run ${host.runId} tools-0 \\(a full budget, at once\\)\\.$`,
			),
		);
		expect(looping.stdout).toMatch(
			/ tools +crash loop +0\/1 +0 +0 +3 +\d+ s\n/,
		);
		expect(await of(host, "health", "--live")).toMatchObject({
			status: 1,
			stdout: expect.stringMatching(
				/^not live, not ready: .*\(RESTART_BUDGET_SPENT\)\n$/,
			),
		});
		renameSync(`${volume}~`, volume);
		expect((await of(host, "restart", "tools-0")).status).toBe(0);
		const well = await psSays(host, WELL);
		expect(well.stdout).toMatch(/ tools +idle +1\/1 /);
		expect(await of(host, "health")).toMatchObject({
			...{ status: 0, stdout: "live, ready.\n" },
		});
		expect((await of(host, "call", "wait", "seconds=0")).stdout).toBe("0\n");
	},
	DEADLINE_MS,
);

test(
	"calls of which a part fails, in the pool whose workers are all well: ps says how many, and the command that lists them does",
	async () => {
		const host = await hostOfTest({ pool: { size: 1 } });
		host.call("parse", { text: "12" }, 9);
		host.call("parse", { text: "twelve" }, 6);
		host.call("mean", { numbers: [1, 2] }, 5);
		const failing = await psSays(
			host,
			/: 6 of the 20 calls of the last minute/,
		);
		expect(failing.status).toBe(1);
		expect(failing.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid ${host.pid}\\), tools: 6 of the 20 calls of the last minute failed, last: parse: TOOL_FAILED: .*ValueError: .*twelve.*\\. See: snakepit calls --failed --run ${host.runId} --data-dir ${host.dataDir}\\.$`,
			),
		);
		expect(failing.stdout).toMatch(/ tools +calls fail +1\/1 /);
		const listed = await of(host, "calls", "--failed");
		expect(listed.stdout).toMatch(/^6 calls failed: 6 parse TOOL_FAILED\.\n/);
	},
	DEADLINE_MS,
);

test(
	"workers that end again and again: ps says how often, how the last one ended, and where to read of the others",
	async () => {
		const host = await hostOfTest({
			pool: { size: 2, start: { backoffMs: 10 } },
		});
		for (const restarts of [1, 2, 3]) {
			host.call("crash");
			await until(
				() => ps(host, "--json"),
				({ stdout }) =>
					JSON.parse(stdout).programs[0]?.pools[0]?.restarts === restarts,
			);
		}
		const ending = await psSays(host, /workers keep ending/);
		expect(ending.status).toBe(1);
		expect(ending.first).toMatch(
			new RegExp(
				`^host-program\\.ts \\(pid ${host.pid}\\), tools: workers keep ending: 3 in 1 min, last: tools-\\d \\(pid \\d+\\) was ended by SIGSEGV.* See: snakepit incidents --run ${host.runId} --data-dir ${host.dataDir}\\.`,
			),
		);
		expect(ending.stdout).toMatch(/ tools +workers end +\d\/2 /);
		const { stdout } = await of(host, "incidents");
		expect(stdout).toMatch(/ tools-\d .*ended by SIGSEGV/);
	},
	DEADLINE_MS,
);
