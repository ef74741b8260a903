import { spawn } from "node:child_process";
import { once } from "node:events";
import {
	accessSync,
	constants,
	existsSync,
	mkdirSync,
	readFileSync,
	rmdirSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readHistory } from "../../src/inspect/history.ts";
import { temporaryDirectory } from "../cleanup/hosts.ts";

const PROGRAM = join(import.meta.dirname, "memory-program.ts");
const LIMIT_BYTES = 400 << 20;

/** Where control groups for memory can be made, and what limits them; `undefined` where this user cannot. */
function groups():
	| { readonly path: string; readonly limit: string }
	| undefined {
	const lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
	const first = lines.find((line) => /^\d+:[^:]*\bmemory\b/.test(line));
	const own = (line: string) => line.split(":").slice(2).join(":");
	const found =
		first === undefined
			? { path: `/sys/fs/cgroup${own(lines[0] ?? "")}`, limit: "memory.max" }
			: {
					path: `/sys/fs/cgroup/memory${own(first)}`,
					limit: "memory.limit_in_bytes",
				};
	try {
		accessSync(found.path, constants.W_OK);
		// A group that has processes of its own gives no memory to groups below it, in version 2.
		return first !== undefined || existsSync(join(found.path, found.limit))
			? found
			: undefined;
	} catch {
		return undefined;
	}
}

const place = process.platform === "linux" ? groups() : undefined;

test.skipIf(place === undefined)(
	"a worker that the kernel kills because memory has run out has that as its killer, with what the kernel says",
	async () => {
		const { path, limit } = place ?? { path: "", limit: "" };
		const group = join(path, `snakepit-test-${process.pid}`);
		mkdirSync(group);
		onTestFinished(() => rmdirSync(group));
		writeFileSync(join(group, limit), String(LIMIT_BYTES));
		const dataDir = temporaryDirectory();
		const host = spawn(
			"/bin/sh",
			[
				...["-c", 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"', "sh", group],
				...[process.execPath, "--conditions=snakepit-source", PROGRAM, dataDir],
			],
			{ stdio: "inherit" },
		);
		onTestFinished(() => void host.kill("SIGKILL"));
		const [code] = await once(host, "exit");
		expect(code).toBe(0);
		for await (const { workers } of readHistory({ dataDir }))
			expect(workers[0]?.end).toMatchObject({
				exit: { kind: "signal", signal: "SIGKILL" },
				killer: "out_of_memory",
				detail: expect.stringMatching(/Killed process \d+ \(tail\)|oom_kill/),
			});
	},
	60_000,
);
