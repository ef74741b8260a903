import { expect, test } from "vitest";
import { endGroup } from "../../../../scripts/end-host.ts";
import { seenAs, start } from "./bench.ts";
import { eventually, isAlive, machine } from "./hosts.ts";

test("one whose leader has ended is ended by a member that was known, and left alone without", async () => {
	const { identity, exited } = await start("leaves-an-ignorant-child.sh");
	await exited;
	const known = machine.members(identity.pid).map((each) => each.identity);
	expect(known.length).toBe(1);
	endGroup(machine, identity);
	expect(machine.members(identity.pid).length).toBe(1);
	endGroup(machine, identity, known);
	await eventually(
		"the end of the child",
		() => machine.members(identity.pid).length === 0,
	);
});

test("one whose leader has ended is ended by the mark of this test", async () => {
	const { identity } = await start("forks-a-child.sh");
	process.kill(identity.pid, "SIGKILL");
	await eventually("the end of the leader", () => !isAlive(identity.pid));
	expect(machine.members(identity.pid).length).toBe(1);
	endGroup(machine, identity);
	await eventually(
		"the end of the child",
		() => machine.members(identity.pid).length === 0,
	);
});

test("a group whose number is another's by now is left alone", async () => {
	const { identity } = await start("forks-a-child.sh");
	const sent: string[] = [];
	const host = seenAs({
		signalGroup: (groupId) => {
			sent.push(`group ${groupId}`);
			return "sent";
		},
	});
	endGroup(host, { ...identity, startTime: "1" });
	expect(sent).toEqual([]);
	endGroup(host, identity);
	expect(sent).toEqual([`group ${identity.pid}`]);
});
