import { describe, expect, test } from "vitest";
import { rows } from "../../../../scripts/test-effort.ts";
import { chain, childrenOf, eventually, run, started } from "./started.ts";

/** Says "up" once for each of these: itself, a child, one in another session, and one that also cleared its environment. */
const TREE = `
	sh -c 'echo up; sleep 1000' &
	setsid sh -c 'echo up; sleep 1000' &
	env -i setsid sh -c 'echo up; sleep 1000 & wait' "$SNAKEPIT_CLI_TEST" &
	echo up; wait`;
const DEAF = `trap "" TERM HUP INT; ${TREE}`;
const UPS = 4;

const tree = (script: string) => ["/bin/sh", "-c", script];

/** Executes its arguments with a standard error that is full, and that nobody reads. */
const UNREAD_ERRORS = `python3 -S -c '
import os, sys
unread, errors = os.pipe()
os.dup2(errors, 2)
os.set_inheritable(unread, True)
os.set_blocking(2, False)
try:
    while True: os.write(2, b"x")
except BlockingIOError:
    os.set_blocking(2, True)
os.execvp(sys.argv[1], sys.argv[1:])
' "$@"`;

/** Says "up" when its first thread has ended and another one runs on. */
const FIRST_THREAD_ENDS = `
import ctypes, platform, signal, threading
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def run_on():
    state = ""
    while state != "Z":
        text = open("/proc/self/stat").read()
        state = text[text.rindex(")") + 2]
    print("up", flush=True)
    threading.Event().wait()
threading.Thread(target=run_on).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
`;

/** Starts a tree below a host, which is the child; its own child is the front. */
async function below(script: string, ...options: readonly string[]) {
	return await belowHost('"$@"', script, options);
}

async function belowHost(
	front: string,
	script: string,
	options: readonly string[],
) {
	const host = ["/bin/sh", "-c", `exec 4<&0; ${front} <&4 & wait`, "host"];
	const [program, ...args] = [...host, ...run(tree(script), ...options)];
	return up(started([program as string, ...args]));
}

async function up(process: ReturnType<typeof started>) {
	for (let i = 0; i < UPS; i++) expect(await process.line()).toBe("up");
	return process;
}

type Way = readonly [
	way: string,
	kill: (pids: Readonly<Record<Who, number>>) => void,
];
type Who = "host" | "front" | "supervisor" | "exitWatcher";

const WAYS: readonly Way[] = [
	["its parent is killed", ({ host }) => process.kill(host, "SIGKILL")],
	[
		"the group of its parent is killed, with snakepit run and the command in it",
		({ host }) => process.kill(-host, "SIGKILL"),
	],
	[
		"its parent is stopped and then killed",
		({ host }) => {
			process.kill(host, "SIGSTOP");
			process.kill(host, "SIGKILL");
		},
	],
	[
		"it is stopped when its parent is killed",
		({ front, host }) => {
			process.kill(front, "SIGSTOP");
			process.kill(host, "SIGKILL");
		},
	],
	["it is killed", ({ front }) => process.kill(front, "SIGKILL")],
	[
		"it is stopped and then killed",
		({ front }) => {
			process.kill(front, "SIGSTOP");
			process.kill(front, "SIGKILL");
		},
	],
	[
		"it is killed while its supervisor is stopped",
		({ front, supervisor }) => {
			process.kill(supervisor, "SIGSTOP");
			process.kill(front, "SIGKILL");
		},
	],
	[
		"its parent is killed while its supervisor is stopped",
		({ host, supervisor }) => {
			process.kill(supervisor, "SIGSTOP");
			process.kill(host, "SIGKILL");
		},
	],
	[
		"its supervisor is killed",
		({ supervisor }) => process.kill(supervisor, "SIGKILL"),
	],
	[
		"its exit watcher and its supervisor are killed",
		({ supervisor, exitWatcher }) => {
			process.kill(exitWatcher, "SIGKILL");
			process.kill(supervisor, "SIGKILL");
		},
	],
];

describe.runIf(process.platform === "linux")(
	"nothing of the command is left, be it in another session without an environment, when",
	() => {
		test.each(
			rows(
				WAYS.flatMap(([way, kill]) =>
					[TREE, DEAF].map(
						(script) =>
							[way, script === DEAF ? "deaf" : "polite", script, kill] as const,
					),
				),
				([, kind]) => kind === "deaf",
			),
		)("%s (%s)", async (_way, _kind, script, kill) => {
			const { child, gone } = await below(script, "--grace", "100ms");
			const host = child.pid ?? 0;
			const [front = 0] = childrenOf(host);
			kill({ host, front, ...chain(front) });
			await gone();
		});
	},
);

describe.runIf(process.platform === "linux")("the end of the command", () => {
	test("ends what it left: with SIGTERM, and what ignores that after the grace", async () => {
		const { end, gone, errors, write } = await up(
			started(run(tree(`(${DEAF}) & read x`), "--grace", "200ms", "--verbose")),
		);
		// All of it ignores the signal by now.
		write("\n");
		expect(await end).toBe(0);
		await gone();
		expect(errors()).toMatch(/SIGTERM was sent to \d+ process/);
		expect(errors()).toMatch(/\d+ process\w* w\w+ killed/);
	});

	test("is that of snakepit run at once when nothing is left, however long the grace", async () => {
		const { end, gone } = started(run(["true"], "--grace", "20m"));
		expect(await end).toBe(0);
		await gone();
	});

	test("does not delay a user who interrupts: a second signal kills the rest", async () => {
		const process = started(
			run(tree(`trap "exit 5" TERM; (${DEAF}) & read x`), "--grace", "20m"),
		);
		for (let i = 0; i < UPS; i++) expect(await process.line()).toBe("up");
		const { supervisor } = chain(process.child.pid ?? 0);
		const [command = 0] = childrenOf(supervisor);
		process.write("\n");
		await eventually(
			"the command has ended",
			() => !childrenOf(supervisor).includes(command),
		);
		process.child.kill("SIGTERM");
		await process.gone();
	});

	test("is due with the end of its input, where that is asked for, as below npx whose parent is killed", async () => {
		const { child, gone, line } = started(
			run(
				tree(`trap "" TERM HUP; echo up; sleep 1000 & wait; wait`),
				"--with-stdin",
				"--grace",
				"100ms",
			),
		);
		expect(await line()).toBe("up");
		child.stdin?.end();
		await gone();
	});

	test("is its own matter where its input is not asked for", async () => {
		const { child, end, line } = started(
			run(
				tree(`read x; echo "ended $?"; read y <&3 && exit 3`),
				"--grace",
				"0",
			),
		);
		child.stdin?.end();
		expect(await line()).toBe("ended 1");
		expect(child.exitCode).toBeNull();
		(child.stdio[3] as NodeJS.WritableStream).write("\n");
		expect(await end).toBe(3);
	});

	// It cannot wait for a reader before it has killed, and then need not.
	test.each([
		[
			"its parent is killed",
			({ host }: Readonly<Record<Who, number>>) =>
				process.kill(host, "SIGKILL"),
		],
		[
			"its supervisor is killed",
			({ supervisor }: Readonly<Record<Who, number>>) =>
				process.kill(supervisor, "SIGKILL"),
		],
	])(
		"is not delayed by standard error that nobody reads, when %s",
		async (_, kill) => {
			const process_ = await belowHost(UNREAD_ERRORS, DEAF, [
				...["--verbose", "--grace", "100ms"],
			]);
			const host = process_.child.pid ?? 0;
			const [front = 0] = childrenOf(host);
			kill({ host, front, ...chain(front) });
			await process_.gone();
		},
	);

	test.each(["its parent is killed", "the rest of it ends"])(
		"is seen by its threads, of which the first may be gone, when %s",
		async (way) => {
			const script = `python3 -S -c '${FIRST_THREAD_ENDS}' "$SNAKEPIT_CLI_TEST" &
				${way === "the rest of it ends" ? "read x" : "wait"}`;
			const host = ["/bin/sh", "-c", '"$@" & wait', "host"];
			const command = run(tree(script), "--grace", "100ms");
			const process_ = started(
				way === "the rest of it ends"
					? command
					: ([...host, ...command] as unknown as [string]),
			);
			expect(await process_.line()).toBe("up");
			if (way === "the rest of it ends") process_.write("\n");
			else process_.child.kill("SIGKILL");
			await process_.gone();
		},
	);

	test("is killed by the kernel when snakepit run and its supervisor are killed at once", async () => {
		const { child, gone } = started(
			run(["/bin/sh", "-c", "echo up; exec sleep 1000"]),
		);
		const front = child.pid ?? 0;
		await eventually("the chain", () => childrenOf(front).length === 2);
		const { supervisor } = chain(front);
		await eventually("the command", () => childrenOf(supervisor).length === 1);
		process.kill(supervisor, "SIGSTOP");
		process.kill(front, "SIGSTOP");
		process.kill(supervisor, "SIGKILL");
		process.kill(front, "SIGKILL");
		await gone();
	});
});

test.runIf(process.platform === "linux")(
	"a supervisor that is killed is a failure of snakepit run, which says so",
	async () => {
		const { child, end, errors } = await up(started(run(tree(TREE))));
		process.kill(chain(child.pid ?? 0).supervisor, "SIGKILL");
		expect(await end).toBe(125);
		expect(errors()).toContain("the supervisor was killed");
	},
);
