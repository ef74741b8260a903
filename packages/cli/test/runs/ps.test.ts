/** What `snakepit ps` says about programs in each kind of trouble. */
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	realpathSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { removeDirectory } from "../../../../scripts/remove-directory.ts";
import { temporaryDirectory } from "../../../core/test/cleanup/hosts.ts";
import { controlledHost } from "../../../core/test/control/controlled-host.ts";
import { hostOfTest, type InspectedHost } from "../dash/inspected-host.ts";
import { SNAKEPIT_IN_NODE } from "../run/started.ts";
import { linesInTerminal } from "./in-terminal.ts";
import { DEADLINE_MS, ps, psSays, snakepit } from "./shown.ts";

test(
	"a program that is well has a line for its pool, and the exit status is 0",
	async () => {
		const name = "images-of-all-customers-in-the-north-eu1";
		const host = await hostOfTest({ pool: { name } });
		const { status, stdout } = await ps(host);
		expect(stdout).toMatch(
			new RegExp(
				`^1 program runs with 1 pool: 2 workers ready, 0 busy; no call waits\\.
PROGRAM +RUN +POOL +STATE +READY +BUSY +QUEUE +RESTARTS +NEXT
host-program\\.ts +${host.runId} +${name} +idle +2/2 +0 +0 +0 +-\n$`,
			),
		);
		expect(status).toBe(0);
		const inTerminal = linesInTerminal(
			80,
			"--no-color",
			"ps",
			"--data-dir",
			host.dataDir,
		);
		for (const line of inTerminal) expect(line.length).toBeLessThanOrEqual(80);
		expect(inTerminal.slice(-2).join("\n")).toMatch(
			/^host-program\.ts +\w{7}\n {2}images\S*…\S*eu1 +idle +2\/2 +0 +0 +0 +-$/,
		);
		const { verdict, programs } = JSON.parse((await ps(host, "--json")).stdout);
		expect(verdict.level).toBe("fine");
		expect(programs).toMatchObject([
			{
				...{ kind: "living", runId: host.runId, pid: host.pid },
				...{ dataDir: host.dataDir, view: "seen", level: "fine" },
				pools: [{ pool: name, ready: 2, queue: { waiting: 0 } }],
			},
		]);
	},
	DEADLINE_MS,
);

test(
	"a worker that hangs is named with its call; one that was stopped with what continues it",
	async () => {
		const heartbeat = { intervalMs: 500, hungAfterMs: 600_000 };
		const host = await hostOfTest({ pool: { heartbeat } });
		host.call("hang");
		const { status, first } = await psSays(host, /has not answered for/);
		expect(status).toBe(1);
		expect(first).toMatch(
			/tools: worker tools-\d \(pid \d+\) has not answered for \S+ s, and has run hang for \S+ s\. See where it is: snakepit stacks --run \w{7} tools-\d\. Its pool ends it/,
		);
		host.call("stop");
		const stopped = await psSays(host, /is stopped/);
		expect(stopped.first).toMatch(
			/tools: worker tools-\d \(pid (\d+)\) is stopped \(by SIGSTOP\)\. Continue it: kill -CONT \1\. Also: tools: hung worker\.$/,
		);
		expect(stopped.stdout).toMatch(/\n {2}.*has run hang for/);
	},
	DEADLINE_MS,
);

test(
	"an overload: how many wait, for what, and which call runs longest",
	async () => {
		const host = await hostOfTest({
			pool: { size: 1, queue: { limit: 10 } },
		});
		host.call("wait", { seconds: 600 }, 4);
		const busy = await psSays(host, /3 calls wait/);
		expect(busy.status).toBe(0);
		expect(busy.first).toMatch(
			/demo|tools: 3 calls wait, the only worker is busy/,
		);
		host.call("wait", { seconds: 600 }, 6);
		const { status, first, stdout } = await psSays(host, /9 of at most 10/);
		expect(status).toBe(1);
		expect(first).toMatch(
			/tools: 9 of at most 10 calls wait, the only worker is busy; the oldest has waited .* s; tools-0 has run wait for .* s\. See what the workers do: snakepit top --run \w{7} --pool tools\./,
		);
		expect(stdout).toMatch(/ tools +long queue +1\/1 +1 +9 +0 +-\n/);
	},
	DEADLINE_MS,
);

test(
	"a program whose control is off, and its state when it is stopped, is named",
	async () => {
		const host = await hostOfTest({ control: false });
		const { status, first } = await ps(host);
		expect(first).toMatch(
			/^1 program runs\. host-program\.ts \(pid \d+\) lives with 2 workers, and its pools cannot be seen: control is off/,
		);
		expect(status).toBe(0);
		host.child.kill("SIGSTOP");
		expect(await ps(host)).toMatchObject({
			...{ status: 1, first: expect.stringContaining("is stopped") },
		});
		host.child.kill("SIGCONT");
	},
	DEADLINE_MS,
);

test(
	"without --data-dir, programs with a data directory of their own are found, also where control is off",
	async () => {
		const state = { XDG_STATE_HOME: temporaryDirectory() };
		const [shown, hidden] = await Promise.all([
			hostOfTest({ pool: { name: "images", size: 1 } }),
			hostOfTest({ pool: { name: "pages", size: 1 }, control: false }),
		]);
		// Those of other tests are found, too.
		const { stdout } = await snakepit(["ps", "--json"], state);
		const { programs } = JSON.parse(stdout) as {
			programs: readonly { runId?: string; view?: string }[];
		};
		const of = ({ runId }: InspectedHost) =>
			programs.find((program) => program.runId === runId);
		expect(of(shown)).toMatchObject({
			...{ view: "seen", pools: [{ pool: "images" }] },
		});
		// Its workers show it.
		if (process.platform === "linux")
			expect(of(hidden)).toMatchObject({ view: "off", pid: hidden.pid });
	},
	DEADLINE_MS,
);

test(
	"a call that hangs beside a free worker: which, since when, with what, and what shows where it is; in top, too",
	async () => {
		const host = await controlledHost({ control: true });
		for (let n = 0; n < 10; n++) host.call("sleep", 1);
		host.call("sleep", 600_000);
		const client = await host.client();
		for await (const update of client.events())
			if (
				update.kind === "state" &&
				update.state.verdict.findings.some(({ kind }) => kind === "long_call")
			)
				break;
		const what =
			"lines: lines-\\d has run sleep \\(c11\\) for \\d+ s, since (\\S+ )?\\d\\d:\\d\\d:\\d\\d, " +
			'with {"for":600000}: longer than any of the last 10 calls of it, the longest took \\S+ m?s\\. ' +
			"See where it is: snakepit stacks (--run \\w{7} )?lines-\\d\\.$";
		const { status, first, stdout } = await ps(host);
		expect(first).toMatch(new RegExp(what));
		expect(stdout).toMatch(/ lines +long call +2\/2 +1 +0 /);
		expect(status).toBe(1);
		const top = await snakepit([
			...["top", "--once", "--data-dir", host.dataDir],
		]);
		expect(top.first).toMatch(new RegExp(what));
	},
	DEADLINE_MS,
);

test(
	"a program that was killed is found in the data directory that it has chosen, unless its control was off",
	async () => {
		const state = { XDG_STATE_HOME: temporaryDirectory() };
		const [host, hidden] = await Promise.all([
			hostOfTest({ pool: { size: 1 }, env: state }),
			hostOfTest({ pool: { size: 1 }, env: state, control: false }),
		]);
		await Promise.all([host.killed(), hidden.killed()]);
		const where = `--data-dir ${realpathSync(host.dataDir)}`;
		// Programs of other tests live beside it.
		const { status, stdout } = await snakepit(["ps"], state);
		expect(status).toBe(1);
		expect(stdout).toContain(
			`host-program.ts (run ${host.runId}) died without closing its run, and `,
		);
		expect(stdout).toContain(
			`Why: snakepit incidents --run ${host.runId} ${where}.`,
		);
		expect(stdout).not.toContain(`incidents --run ${hidden.runId}`);
		for (const command of ["history", "incidents", "calls --failed"]) {
			const listed = await snakepit(command.split(" "), state);
			expect(listed.stdout).toContain(
				`\nAlso died: host-program.ts (run ${host.runId}). Why: snakepit incidents --run ${host.runId} ${where}\n`,
			);
			expect(listed.status).toBe(0);
		}
		const inspected = await snakepit(["inspect", host.runId], state);
		expect(inspected.first).toMatch(/\(host died\) of host-program\.ts/);
		await snakepit(["reap", "--data-dir", host.dataDir], state);
		const { stdout: after } = await snakepit(["ps", "-a"], state);
		expect(after).not.toContain(`(run ${host.runId}) died without closing`);
		// Without it, a newer run of the same program, of another test, may live.
		const own = await snakepit(["ps", "--data-dir", host.dataDir], state);
		expect(own.stdout).toContain(`(run ${host.runId}) died `);
		expect(after).toContain(
			`Other programs have a ledger of their own: ${where}.`,
		);
	},
	DEADLINE_MS,
);

/** Root reads everything. */
const NOBODY = 65_534;
const AS_NOBODY = `
	process.setgroups([]);
	process.setgid(${NOBODY});
	process.setuid(${NOBODY});
	process.argv.splice(1, 1);
	await import(process.argv[1]);
`;

test.runIf(process.getuid?.() === 0 && process.platform === "linux")(
	"another user's run, and a ledger that may not be read, are named",
	async () => {
		// As /tmp is: others see what is in it.
		const home = mkdtempSync("/tmp/snakepit-nobody-");
		onTestFinished(() => removeDirectory(home));
		chmodSync(home, 0o755);
		const place = { TMPDIR: home, XDG_RUNTIME_DIR: undefined };
		const host = await hostOfTest({ pool: { size: 1 }, env: place });
		const program = join(home, "as-nobody.mjs");
		writeFileSync(program, AS_NOBODY);
		const state = join(home, "state");
		mkdirSync(state, { mode: 0o700 });
		const asNobody = (...args: readonly string[]) => {
			const [node, ...before] = SNAKEPIT_IN_NODE;
			const { status, stdout, stderr } = spawnSync(
				node,
				[
					...before.slice(0, -1),
					program,
					String(before.at(-1)),
					...["ps", ...args],
				],
				{
					...{ encoding: "utf8", cwd: "/" },
					env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home },
				},
			);
			expect(stderr).toBe("");
			return { status, stdout };
		};
		expect(asNobody().stdout).toMatch(
			new RegExp(
				`Run ${host.runId} of user 0 lives \\(${home}/snakepit-${host.runId}-\\w+\\), and only that user can look at it\\. As that user: sudo -u '#0' snakepit ps\\.`,
			),
		);
		expect(asNobody("--data-dir", state)).toMatchObject({
			status: 1,
			stdout: expect.stringMatching(
				new RegExp(`^The ledger ${state} cannot be read: EACCES`),
			),
		});
	},
	DEADLINE_MS,
);

test(
	"-a also lists what has ended, and a run that is not there is absent",
	async () => {
		const host = await hostOfTest({ pool: { size: 1 } });
		const { dataDir, runId } = host;
		const exit = new Promise((resolve) => host.child.once("exit", resolve));
		host.child.stdin?.end();
		await exit;
		expect(await ps(host)).toMatchObject({
			...{ status: 0, stdout: "No program of yours has an open run here.\n" },
		});
		const { stdout, status } = await ps(host, "-a");
		expect(status).toBe(0);
		expect(stdout).toMatch(
			new RegExp(`\nhost-program\\.ts +${runId} +\\d{4}-.* ended in order\n$`),
		);
		expect(readdirSync(join(dataDir, "history"))).toHaveLength(1);
	},
	DEADLINE_MS,
);
