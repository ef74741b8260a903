import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { SystemProcessHost } from "../../src/os/this-machine.ts";

const machine = new SystemProcessHost();

test("a process is alive until it is a zombie or its number is another's", async () => {
	const child = spawn("sleep", ["1000"]);
	await once(child, "spawn");
	const identity = machine.facts(child.pid as number)?.identity;
	if (identity === undefined) throw new Error("It has ended.");
	expect(machine.condition(identity)).toBe("alive");
	expect(machine.condition({ ...identity, startTime: "1" })).toBe("gone");
	const exit = once(child, "exit");
	child.kill("SIGKILL");
	await exit;
	expect(machine.condition(identity)).toBe("gone");
});

test("descendants are found through parents, also those that left the group with another environment", async () => {
	const script = "setsid env -i sh -c 'sleep 1000 & echo up; wait' & wait";
	const child = spawn("sh", ["-c", script], {
		detached: true,
		stdio: ["ignore", "pipe", "inherit"],
	});
	const leader = machine.facts(child.pid as number);
	if (leader === undefined) throw new Error("It has ended.");
	onTestFinished(() => {
		for (const { identity } of machine.descendants(leader.identity))
			machine.signal(identity, "SIGKILL");
		child.kill("SIGKILL");
	});
	await once(child.stdout, "data");
	const found = machine.descendants(leader.identity);
	expect(found.length).toBe(2);
	expect(new Set(found.map(({ groupId }) => groupId)).size).toBe(1);
	expect(found[0]?.groupId).not.toBe(leader.groupId);
});

test.skipIf(process.platform !== "linux")(
	"whether a process handles a signal is known, and ignoring is not handling",
	async () => {
		const script =
			'process.on("SIGQUIT", () => {}); setInterval(() => {}, 1e6); console.log("up")';
		const child = spawn(
			"/bin/sh",
			["-c", 'trap "" USR2; exec "$0" --eval "$1"', process.execPath, script],
			{ stdio: ["ignore", "pipe", "inherit"] },
		);
		onTestFinished(() => void child.kill("SIGKILL"));
		await once(child.stdout, "data");
		const identity = machine.facts(child.pid as number)?.identity;
		if (identity === undefined) throw new Error("It has ended.");
		expect(machine.handles(identity, "SIGQUIT")).toBe("yes");
		expect(machine.handles(identity, "SIGUSR2")).toBe("no");
		expect(machine.handles(identity, "SIGALRM")).toBe("no");
		const stranger = { ...identity, startTime: "1" };
		expect(machine.handles(stranger, "SIGQUIT")).toBe("unknown");
		const exit = once(child, "exit");
		child.kill("SIGKILL");
		await exit;
		expect(machine.handles(identity, "SIGQUIT")).toBe("unknown");
	},
);
