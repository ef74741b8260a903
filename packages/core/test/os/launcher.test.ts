import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ProcessSpec } from "../../src/contract/world.ts";
import { nativeBinary } from "../../src/os/launcher.ts";
import {
	eventually,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";
import { launcher, plain, start } from "./launcher-bench.ts";

/** How a start fails, with and without a launcher. */
async function failures(
	executable: string,
	fields: Partial<ProcessSpec>,
): Promise<readonly unknown[]> {
	const failing = async (spec: ProcessSpec) =>
		await (await start(spec)).executed;
	const spec = { ...plain, executable, ...fields };
	return await Promise.all(
		[spec, { ...spec, launcher: await launcher() }].map((each) =>
			failing(each).catch((error) => error),
		),
	);
}

describe.runIf(process.platform === "linux")("a launched program", () => {
	test("has everything as without a launcher, but for two descriptors of its own", async () => {
		const script =
			'echo "$0" "$@"; pwd; env | sort; cat /proc/$$/limits; cut -d " " -f 4-8 /proc/$$/stat; ls /proc/$$/fd';
		const named = {
			...plain,
			executable: "sh",
			args: ["-c", script, "name", "--", "a b", "", "ü"],
			cwd: temporaryDirectory(),
		};
		// No shell, which blocks signals while it forks.
		const status = { ...named, executable: "cat", args: ["/proc/self/status"] };
		const printed = async (spec: ProcessSpec) => {
			const process_ = await start(spec);
			const [output] = await Promise.all([
				text(process_.stdout),
				process_.executed,
			]);
			return output
				.replaceAll(String(process_.identity.pid), "its pid")
				.trimEnd()
				.split("\n");
		};
		const seen = async (fields: Partial<ProcessSpec>) => {
			const lines = await printed({ ...named, ...fields });
			const descriptors = lines.filter((line) => /^\d+$/.test(line));
			const state = await printed({ ...status, ...fields });
			return {
				descriptors,
				rest: [
					...lines.filter((line) => !descriptors.includes(line)),
					...state.filter((line) =>
						/^(Sig[BIC]|Umask|Groups|Cap|NoNew|Seccomp)/.test(line),
					),
				],
			};
		};
		const without = await seen({});
		const launched = await seen({ launcher: await launcher() });
		expect(launched.rest).toEqual(without.rest);
		expect(launched.rest.length).toBeGreaterThan(20);
		expect(launched.descriptors.sort()).toEqual(
			[...without.descriptors, "768", "769"].sort(),
		);
	});

	test("has its own pid from the start, and the descriptors where the limit permits", async () => {
		const process_ = await start({
			...plain,
			executable: "sh",
			// The program of the program: launched below a lower limit.
			args: [
				...["-c", 'ulimit -n 200; exec "$@"', "sh"],
				...Object.values(await launcher()).toSpliced(1, 0, "lifeline"),
				...["--", "sh", "-c", "echo $$; ls /proc/$$/fd"],
			],
		});
		const [pid, ...descriptors] = (await text(process_.stdout))
			.trim()
			.split("\n")
			.map(Number);
		expect(pid).toBe(process_.identity.pid);
		// Others may be inherited from what runs this test.
		expect(descriptors.filter((number) => number < 10)).toEqual([
			...[0, 1, 2, 3, 4],
		]);
	});

	test("that cannot be executed fails as without a launcher", async () => {
		const directory = temporaryDirectory();
		const locked = join(directory, "not-executable");
		writeFileSync(locked, "#!/bin/sh\n");
		chmodSync(locked, 0o600);
		const orphaned = join(directory, "without-interpreter");
		writeFileSync(orphaned, "#!/no/such/interpreter\n", { mode: 0o755 });
		mkdirSync(join(directory, "bin"));
		writeFileSync(join(directory, "bin/locked"), "", { mode: 0o600 });
		const PATH = `/no/such/directory:${join(directory, "bin")}`;
		const cases: [string, Partial<ProcessSpec>][] = [
			["no-such-program", {}],
			["no-such-program", { env: {} }],
			["locked", { env: { PATH } }],
			[join(directory, "removed"), {}],
			[directory, {}],
			[locked, {}],
			[orphaned, {}],
		];
		for (const [executable, fields] of cases) {
			const [without, launched] = await failures(executable, fields);
			expect(launched).toMatchObject({
				name: "StartError",
				code: "SPAWN_FAILED",
				message: (without as Error).message,
				cause: { code: expect.stringMatching(/^E[A-Z]+$/), syscall: "spawn" },
			});
		}
	});

	test("that is a directory, or a script with line ends of Windows, fails with what helps", async () => {
		const directory = temporaryDirectory();
		const script = join(directory, "script");
		writeFileSync(script, "#!/bin/sh\r\n", { mode: 0o755 });
		for (const [executable, remedy] of [
			[script, "ends with a carriage return"],
			[directory, "It is a directory"],
		] as const)
			expect((await failures(executable, {}))[1]).toMatchObject({
				message: expect.stringContaining(remedy),
			});
	});

	test("that Node itself refuses to start has the program's name in its error", async () => {
		const missing = join(temporaryDirectory(), "missing");
		for (const [fields, remedy] of [
			[{ cwd: missing }, /^Cannot start true: .*missing does not exist/],
			[{ args: ["x".repeat(4_000_000)] }, /^Cannot start true: .*too long/],
		] as const) {
			const [, launched] = await failures("true", fields);
			expect(launched).toMatchObject({
				code: "SPAWN_FAILED",
				message: expect.stringMatching(remedy),
			});
		}
	});

	test("may be a script without a first line that names its interpreter, as without a launcher", async () => {
		const directory = temporaryDirectory();
		const script = join(directory, "plain-script");
		writeFileSync(script, 'echo "$0" "$@"\n', { mode: 0o755 });
		const PATH = `${directory}:${process.env["PATH"]}`;
		const run = async (executable: string, given: Partial<ProcessSpec>) =>
			await text(
				(
					await start({
						...plain,
						env: { ...plain.env, PATH },
						executable,
						args: ["a b"],
						...given,
					})
				).stdout,
			);
		for (const executable of [script, "plain-script"]) {
			const launched = await run(executable, { launcher: await launcher() });
			expect(launched).toBe(`${script} a b\n`);
		}
	});

	test("whose lifeline cannot be had is not executed, and the error says what helps", async () => {
		const { binary } = await launcher();
		for (const [lifeline, code] of [
			[join(temporaryDirectory(), "nobody"), "ENOENT"],
			[`/tmp/${"x".repeat(108)}`, "ENAMETOOLONG"],
		] as const) {
			const process_ = await start({
				...plain,
				executable: "echo",
				args: ["ran"],
				launcher: { binary, lifeline },
			});
			await expect(process_.executed).rejects.toMatchObject({
				code: "SPAWN_FAILED",
				message: expect.stringMatching(
					new RegExp(`^Cannot start echo: .*\\(${code}\\).*lifeline: "off"`),
				),
			});
			expect(await text(process_.stdout)).toBe("");
		}
	});

	test("dies with its group when the listener closes, and so does one that is stopped", async () => {
		const path = join(temporaryDirectory(), "l");
		const listener = await machine.listenLifeline(path);
		onTestFinished(() => listener.close());
		const binary = nativeBinary() ?? "";
		const process_ = await start({
			...plain,
			executable: "sh",
			args: ["-c", "sleep 100000 & echo $!; kill -STOP $$"],
			launcher: { binary, lifeline: path },
		});
		onTestFinished(() => void process_.signal("SIGKILL", "group"));
		const [line] = await process_.stdout.take(1).toArray();
		const child = Number(String(line));
		expect(isAlive(child)).toBe(true);
		listener.close();
		expect(await process_.exited).toEqual({
			kind: "signal",
			signal: "SIGKILL",
		});
		await eventually("the end of the child", () => !isAlive(child));
	});

	test("killed before it is executed has nothing to report but its exit", async () => {
		// A launcher that hangs before it executes anything.
		const hanging = join(temporaryDirectory(), "hangs");
		writeFileSync(hanging, "#!/bin/sh\nkill -KILL $$\n", { mode: 0o755 });
		const process_ = await start({
			...plain,
			executable: "true",
			launcher: { binary: hanging, lifeline: "/none" },
		});
		await process_.executed;
		expect(await process_.exited).toEqual({
			kind: "signal",
			signal: "SIGKILL",
		});
	});
});
