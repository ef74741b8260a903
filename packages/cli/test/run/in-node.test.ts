import { describe, expect, test } from "vitest";
import { SNAKEPIT_IN_NODE, started } from "./started.ts";

/** As in an install without optional packages. */
const HOOK = `import module from "node:module";
	const resolve = module._resolveFilename;
	module._resolveFilename = (name, ...rest) => {
		if (name.startsWith("@snakepit/native-")) throw new Error("It is not installed.");
		return resolve(name, ...rest);
	};`;
const [node, ...rest] = SNAKEPIT_IN_NODE;
const WITHOUT = [
	node as string,
	`--import=data:text/javascript,${encodeURIComponent(HOOK)}`,
	...rest,
	"run",
];
const shell = (script: string) => ["--", "/bin/sh", "-c", script];

function withoutNative(...args: readonly string[]) {
	const [program, ...before] = WITHOUT;
	return started([program as string, ...before, ...args]);
}

describe("without a native binary, snakepit run", () => {
	test("gives the command its standard streams, and ends with its status", async () => {
		const { end, errors, line, write } = withoutNative(
			...shell('read x; echo "got $x"; echo no >&2; exit 7'),
		);
		write("it\n");
		expect(await line()).toBe("got it");
		expect(await end).toBe(7);
		expect(errors()).toBe("no\n");
	});

	test("ends by the signal of the command, and as a shell does without it", async () => {
		expect(await withoutNative(...shell("kill -KILL $$")).end).toBe("SIGKILL");
		expect(await withoutNative("--", "snakepit-no-such-program").end).toBe(127);
		expect(await withoutNative("--grace", "5", "--", "ls").end).toBe(2);
	});

	test("forwards signals, and says what is missing where that is asked for", async () => {
		const { child, end, errors, line } = withoutNative(
			"--verbose",
			...shell('trap "exit 5" TERM; echo up; while :; do sleep 0.01; done'),
		);
		expect(await line()).toBe("up");
		child.kill("SIGTERM");
		expect(await end).toBe(5);
		expect(errors()).toMatch(/there is no native binary for \w+ on \w+ here/);
	});

	test("ends the command when its parent is killed, even one that ignores SIGTERM", async () => {
		const command = shell(
			'trap "" TERM; echo up; while :; do sleep 0.01; done',
		);
		const { child, gone, line } = started([
			"/bin/sh",
			"-c",
			'"$@" & wait',
			"host",
			...WITHOUT,
			"--grace",
			"100ms",
			...command,
		]);
		expect(await line()).toBe("up");
		child.kill("SIGKILL");
		await gone();
	});
});

test.runIf(process.platform === "linux")(
	"where Node finds the native binary, it becomes it",
	async () => {
		const [program, ...args] = SNAKEPIT_IN_NODE;
		const { child, end, line } = started([
			program,
			...args,
			"run",
			...shell("cat /proc/$PPID/stat | cut -d' ' -f4; exit 6"),
		]);
		// The command's parent is the supervisor, and its parent is this child.
		expect(Number(await line())).toBe(child.pid);
		expect(await end).toBe(6);
	},
);
