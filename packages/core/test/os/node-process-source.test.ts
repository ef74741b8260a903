import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testMark } from "../../../../scripts/test-mark.ts";
import type { ProcessIdentity } from "../../src/contract/identity.ts";
import type {
	OwnGroup,
	ProcessSpec,
	StartedProcess,
} from "../../src/contract/world.ts";
import { NodeProcessSource } from "../../src/os/node-process-source.ts";
import { sendSignal } from "../../src/os/process-group.ts";
import { start } from "../cleanup/bench.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";
import {
	eventually,
	isAlive,
	machine,
	temporaryDirectory,
} from "../cleanup/hosts.ts";

const plain: Omit<ProcessSpec, "executable"> = {
	args: [],
	env: { PATH: process.env["PATH"] ?? "", ...testMark() },
	cwd: undefined,
	stdin: "empty",
	control: false,
};

function failing(
	executable: string,
	fields: Partial<ProcessSpec> = {},
): Promise<unknown> {
	const started = machine.source.start(
		{ ...plain, executable, ...fields },
		() => {},
	);
	return started.then(
		() => "started",
		(error) => error,
	);
}

test("a program that ends at once is recorded all the same, every time", async () => {
	for (let n = 0; n < 50; n++) {
		let recorded = false;
		const { exited } = await machine.source.start(
			{ ...plain, executable: "true" },
			() => {
				recorded = true;
			},
		);
		expect(recorded).toBe(true);
		const release = machine.keepAlive();
		expect(await exited).toEqual({ kind: "code", code: 0 });
		release();
	}
});

test("recording happens in the very turn of the spawn", () => {
	const order: string[] = [];
	void machine.source.start({ ...plain, executable: "true" }, () =>
		order.push("recorded"),
	);
	order.push("next");
	expect(order).toEqual(["recorded", "next"]);
});

test("a process leads a group and a session of its own", async () => {
	const { identity, groupId } = await start("sleeps.sh");
	expect(groupId).toBe(identity.pid);
	expect(machine.facts(identity.pid)?.groupId).toBe(identity.pid);
});

test("a failed spawn reports why and what to do", async () => {
	const directory = temporaryDirectory();
	const file = join(directory, "not-executable");
	writeFileSync(file, "#!/bin/sh\n");
	chmodSync(file, 0o600);
	const script = join(directory, "script");
	writeFileSync(script, "#!/nowhere/python3 -u\n", { mode: 0o700 });
	const named =
		/script exists, but \/nowhere\/python3, the interpreter that its first/;
	const cases: [string, Partial<ProcessSpec>, RegExp][] = [
		[script, {}, named],
		["./script", { cwd: directory }, named],
		["script", { env: { PATH: `/nowhere:${directory}` } }, named],
		["no-such-program", {}, /Install it.*PATH/],
		["no-such-program", { env: {} }, /now not set/],
		[join(directory, "removed"), {}, /does not exist.*moved or removed/],
		[file, {}, /chmod \+x/],
		[
			"true",
			{ cwd: join(directory, "missing") },
			/working directory .*missing does not exist/,
		],
		["true", { args: ["x".repeat(4_000_000)] }, /too long/],
		["true\0", {}, /cause/],
	];
	for (const [executable, fields, remedy] of cases)
		expect(await failing(executable, fields)).toMatchObject({
			name: "StartError",
			code: "SPAWN_FAILED",
			ran: "no",
			message: expect.stringMatching(remedy),
		});
});

test("a process whose identity cannot be read is ended again", async () => {
	let pid = 0;
	const source = new NodeProcessSource({
		identify: (seen) => {
			pid = seen;
			return "unknown";
		},
		ownGroup: () => expect.unreachable(),
	});
	const started = source.start(
		{ ...plain, executable: "sleep", args: ["100000"] },
		() => {},
	);
	await expect(started).rejects.toMatchObject({
		code: "SPAWN_FAILED",
		message: expect.stringContaining("/proc"),
	});
	await eventually("its end", () => !isAlive(pid));
});

test("the exit is reported although a grandchild holds the output open, and its group can still be ended", async () => {
	const process_ = await start("leaves-a-child.sh", "run", "run-1");
	const release = machine.keepAlive();
	expect(await process_.exited).toEqual({ kind: "code", code: 0 });
	expect(machine.members(process_.groupId).length).toBe(1);
	expect(process_.signal("SIGKILL", "process")).toBe("gone");
	expect(process_.signal("SIGKILL", "group")).toBe("sent");
	await eventually(
		"the end of the grandchild",
		() => machine.members(process_.groupId).length === 0,
	);
	expect(process_.signal("SIGKILL", "group")).toBe("gone");
	release();
});

/** A leader, its child without an environment, and their group as this program would know it. */
async function startIgnorantFamily(): Promise<{
	readonly leader: StartedProcess;
	readonly child: ProcessIdentity;
	readonly own: OwnGroup;
}> {
	const leader = await start("forks-an-ignorant-child.sh");
	const own = machine.ownGroup(leader.identity, { env: {} });
	const child = machine
		.members(leader.groupId)
		.find(({ identity }) => identity.pid !== leader.identity.pid);
	if (child === undefined) return expect.unreachable();
	return { leader, child: child.identity, own };
}

test("a child that cleared its environment is ended with the group of a leader that was seen after its birth", async () => {
	const group = await startIgnorantFamily();
	const { groupId } = group.leader;
	// Some ticks after the child's start.
	const born = performance.now();
	await eventually("some ticks", () => performance.now() - born > 50);
	group.own.noteLeader();
	const release = machine.keepAlive();
	group.leader.signal("SIGKILL", "process");
	await group.leader.exited;
	release();
	expect(machine.members(groupId).map((member) => member.identity)).toEqual([
		group.child,
	]);
	expect(group.own.signal("SIGKILL")).toBe("sent");
	await eventually(
		"the end of the child",
		() => machine.members(groupId).length === 0,
	);
});

test("no signal is sent to every process, to one's own group, or to the first process", () => {
	for (const number of [0, -0, 1, -1, Number.NaN, 1.5])
		expect(sendSignal(number, "SIGKILL")).toBe("refused");
	expect(sendSignal(4_194_303, "SIGKILL")).toBe("gone");
});

test("a group is signalled only through a member that is in it", async () => {
	const { identity, groupId } = await start("sleeps.sh");
	expect(
		machine.signalGroup(groupId, { ...identity, startTime: "1" }, "SIGKILL"),
	).toBe("gone");
	expect(machine.signalGroup(groupId, deadOwner(), "SIGKILL")).toBe("gone");
	expect(machine.signalGroup(groupId + 1, identity, "SIGKILL")).toBe("refused");
	expect(isAlive(identity.pid)).toBe(true);
	expect(machine.signalGroup(groupId, identity, "SIGKILL")).toBe("sent");
});

test("files are removed with what they hold, and those that cannot be are returned", () => {
	const directory = temporaryDirectory();
	mkdirSync(join(directory, "a", "b"), { recursive: true });
	writeFileSync(join(directory, "file"), "");
	expect(
		machine.remove([
			join(directory, "a"),
			join(directory, "no\0name"),
			join(directory, "file"),
		]),
	).toEqual([join(directory, "no\0name")]);
});
