import { expect, test } from "vitest";
import { OwnGroups, ProcessGroup } from "../../src/os/process-group.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";

/** A group whose leader is there as long as it is said to be; counts the looks at it. */
function groupOf(pid: number): {
	readonly group: ProcessGroup;
	readonly state: { there: boolean; looks: number };
} {
	const identity = deadOwner({ pid });
	const state = { there: true, looks: 0 };
	const group = new ProcessGroup(
		identity,
		{ env: {} },
		{
			moment: () => 100,
			holder: () => {
				state.looks++;
				return state.there
					? {
							identity,
							groupId: pid,
							condition: "alive",
							sessionId: pid,
							startedAt: 1,
						}
					: "gone";
			},
			holders: () => [],
			environment: () => new Map(),
			hasMembers: () => false,
			send: () => "sent",
		},
	);
	return { group, state };
}

test("leaders are looked at every two seconds while they live, and a new one again after the last", async () => {
	const clock = new VirtualClock();
	const groups = new OwnGroups(clock);
	const [first, second, third] = [groupOf(10), groupOf(20), groupOf(30)];
	groups.add(first.group);
	groups.add(second.group);
	await clock.advance(4_000);
	expect([first.state.looks, second.state.looks]).toEqual([3, 3]);
	first.state.there = false;
	second.group.leaderEnded();
	await clock.advance(2_000);
	const looks = [first.state.looks, second.state.looks];
	await clock.advance(60_000);
	expect([first.state.looks, second.state.looks]).toEqual(looks);
	groups.add(third.group);
	await clock.advance(2_000);
	expect(third.state.looks).toBe(2);
});

test("a leader that is gone at once is not looked at again", async () => {
	const clock = new VirtualClock();
	const groups = new OwnGroups(clock);
	const { group, state } = groupOf(10);
	state.there = false;
	groups.add(group);
	await clock.advance(10_000);
	expect(state.looks).toBe(1);
});
