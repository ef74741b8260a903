import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { eventually } from "../cleanup/hosts.ts";
import { firstLine, guardOfTest, PLAIN, startScript } from "./bench.ts";

const DAEMON = `python3 -S -c '
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        os.closerange(0, 100)
        os.execve("/bin/sleep", ["sleep", "100000"], {})
    os._exit(0)
os.wait()
'`;

test("what cannot be started says why and what to do, as with Node as the parent", async () => {
	const bench = await guardOfTest();
	const file = join(bench.dataDir, "not-executable");
	writeFileSync(file, "#!/bin/sh\n", { mode: 0o600 });
	const script = join(bench.dataDir, "script");
	writeFileSync(script, "#!/nowhere/python3 -u\n", { mode: 0o700 });
	const named =
		/script exists, but \/nowhere\/python3, the interpreter that its first/;
	const cases: [string, object, RegExp][] = [
		[script, {}, named],
		["./script", { cwd: bench.dataDir }, named],
		["script", { env: { PATH: `/nowhere:${bench.dataDir}` } }, named],
		["no-such-program", {}, /Install it.*PATH/],
		["no-such-program", { env: {} }, /now not set/],
		[file, {}, /chmod \+x/],
		["true", { cwd: "/nowhere" }, /working directory .*nowhere does not exist/],
		["true", { args: ["x".repeat(4_000_000)] }, /too long/],
		["true", { args: ["x".repeat(20_000_000)] }, /too long/],
		["true\0", {}, /cause/],
	];
	for (const [executable, fields, remedy] of cases)
		await expect(
			bench.run.infrastructure.source.start(
				{ ...PLAIN, executable, ...fields },
				() => {},
			),
		).rejects.toMatchObject({
			code: "SPAWN_FAILED",
			ran: "no",
			message: expect.stringMatching(remedy),
		});
	// It serves on.
	const process_ = await startScript(bench, "echo here");
	expect(await firstLine(process_)).toBe("here");
});

test("it has the streams that it was given, each by its number, and nothing else of the guard", async () => {
	const bench = await guardOfTest();
	const process_ = await startScript(
		bench,
		"ls /proc/$$/fd; read -r line <&3; echo $line >&6",
		{ descriptors: new Map([3, 6].map((fd) => [fd, "stream"])) },
	);
	process_.streams.get(3)?.write("there and back\n");
	const answer = process_.streams.get(6);
	expect(answer === undefined ? "" : await text(answer)).toBe(
		"there and back\n",
	);
	const descriptors = (await text(process_.stdout)).trim().split("\n");
	expect(descriptors.filter((number) => Number(number) < 10)).toEqual([
		"0",
		"1",
		"2",
		"3",
		"6",
	]);
});

test("what asks for descriptors that it cannot have is refused at once, with what to do", async () => {
	const bench = await guardOfTest();
	const listener = await bench.host.bindListener();
	for (const [fd, what] of [
		[8, "stream"],
		[3, listener],
	] as const)
		await expect(
			bench.run.infrastructure.source.start(
				{
					...{ ...PLAIN, executable: "true" },
					descriptors: new Map([[fd, what]]),
				},
				() => {},
			),
		).rejects.toMatchObject({
			code: "DESCRIPTORS_UNSUPPORTED",
			ran: "no",
			message: expect.stringMatching(
				/^Cannot start true with the descriptors \d .*by the guard.*3 to 6, and listeners only with a lifeline.*leave the option guard out/,
			),
		});
	listener.close();
});

test("its working directory is the host's, its environment what was given", async () => {
	const bench = await guardOfTest();
	const env = { PATH: PLAIN.env["PATH"] ?? "", A: "=ü", "B=C": "d" };
	const process_ = await startScript(bench, 'echo "$PWD|$A|$B"', { env });
	expect(await firstLine(process_)).toBe(`${process.cwd()}|=ü|C=d`);
});

test("a working directory that is relative is one of the host's", async () => {
	const bench = await guardOfTest();
	const process_ = await startScript(bench, "pwd -P", { cwd: "packages/core" });
	expect(await firstLine(process_)).toBe(realpathSync("packages/core"));
});

test("fifty programs that end at once are recorded, and their exits reported", async () => {
	const bench = await guardOfTest();
	const exits = await Promise.all(
		Array.from({ length: 50 }, async (_, code) => {
			const process_ = await startScript(bench, `exit ${code}`);
			return await process_.exited;
		}),
	);
	expect(exits).toEqual(exits.map((_, code) => ({ kind: "code", code })));
});

test("a daemon that nothing else would find is gone with the run", async () => {
	const bench = await guardOfTest();
	const process_ = await startScript(bench, `${DAEMON}; sleep 100000`);
	const daemon = Number(await firstLine(process_));
	const seen = bench.host.observe(daemon);
	expect(seen).toMatchObject({ pid: daemon });
	expect(bench.host.marked().map((each) => each.identity.pid)).not.toContain(
		daemon,
	);
	await bench.run.close();
	expect(bench.host.observe(daemon)).toBe("gone");
	expect(bench.events.of("protection.ended")).toMatchObject([
		{ protection: "guard", how: "released", exit: { kind: "code", code: 0 } },
	]);
});

test.each(["outer", "middle", "inner"] as const)(
	"when the %s guard is killed its workers are reported as ended, with all below them, and the next start has a new chain",
	async (whom) => {
		const bench = await guardOfTest();
		const process_ = await startScript(bench, `${DAEMON}; sleep 100000`);
		const daemon = Number(await firstLine(process_));
		const outer = bench.outer();
		const inner = parentOf(process_.identity.pid);
		const pids = { outer, middle: parentOf(inner), inner };
		process.kill(pids[whom], "SIGKILL");
		expect(await process_.exited).toEqual({
			kind: "signal",
			signal: "SIGKILL",
		});
		await eventually(
			"the end of the daemon",
			() => bench.host.observe(daemon) === "gone",
		);
		expect(await bench.events.waitFor("protection.ended")).toMatchObject({
			how: "lost",
			pid: outer,
		});
		const next = await startScript(bench, "echo again");
		expect(await firstLine(next)).toBe("again");
		expect(bench.events.of("protection.started")).toMatchObject([
			{ restarts: 0 },
			{ restarts: 1 },
		]);
	},
);

test("when both guards are killed at once the groups of their workers are ended by the host", async () => {
	const bench = await guardOfTest();
	const process_ = await startScript(bench, "sleep 100000 & echo $!; wait");
	const child = Number(await firstLine(process_));
	const inner = parentOf(process_.identity.pid);
	process.kill(inner, "SIGKILL");
	process.kill(bench.outer(), "SIGKILL");
	expect(await process_.exited).toEqual({ kind: "signal", signal: "SIGKILL" });
	await eventually(
		"the end of its child",
		() => bench.host.observe(child) === "gone",
	);
	expect(process_.signal("SIGKILL", "group")).toBe("gone");
});

test("a start whose guard dies before the worker was recorded is made by the next one", async () => {
	const bench = await guardOfTest();
	const first = await startScript(bench, "sleep 100000");
	// It takes the connections; the others and the conversation end after it.
	process.kill(parentOf(first.identity.pid), "SIGKILL");
	const second = await startScript(bench, "sleep 100000");
	expect(bench.host.observe(second.identity.pid)).toMatchObject(
		second.identity,
	);
	expect(bench.events.of("protection.started").length).toBe(2);
	second.signal("SIGKILL", "group");
	await Promise.all([first.exited, second.exited]);
});

test("starts that are on their way when the guard dies are refused or made by the next one, and not left hanging", async () => {
	const bench = await guardOfTest();
	const starts = Array.from({ length: 30 }, () =>
		startScript(bench, "sleep 100000"),
	);
	process.kill(bench.outer(), "SIGKILL");
	const settled = await Promise.allSettled(starts);
	for (const each of settled) {
		if (each.status === "rejected")
			expect(each.reason).toMatchObject({ code: "SPAWN_FAILED" });
		else if (each.value.signal("SIGKILL", "group") === "sent")
			await each.value.exited;
	}
});

function parentOf(pid: number): number {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}
