import { expect, test } from "vitest";
import {
	INCARNATION_VARIABLE,
	MARKER_VARIABLE,
} from "../../src/contract/identity.ts";
import {
	type GroupSystem,
	type NumberHolder,
	OwnGroups,
	ProcessGroup,
} from "../../src/os/process-group.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { deadOwner } from "../cleanup/crafted-run.ts";

const ID = 10;
const ENV = { [MARKER_VARIABLE]: "run", [INCARNATION_VARIABLE]: "run-1" };

function holder(
	pid: number,
	startedAt: number,
	fields: Partial<NumberHolder> = {},
): NumberHolder {
	return {
		identity: deadOwner({ pid, startTime: String(startedAt) }),
		groupId: ID,
		condition: "alive",
		sessionId: ID,
		startedAt,
		...fields,
	};
}

const LEADER = holder(ID, 100);
const ZOMBIE = { ...LEADER, condition: "zombie" } as const;
const STRANGER = holder(ID, 200);

/** A system in which there is what a test says, and a group whose leader began at 100. */
class Scene implements GroupSystem {
	now: readonly NumberHolder[] = [LEADER];
	time: number | undefined = 100;
	readonly environments: Record<number, Record<string, string>> = {};
	readonly sent: number[] = [];
	looks = 0;
	readonly group: ProcessGroup = new ProcessGroup(
		LEADER.identity,
		{ env: ENV },
		this,
	);

	moment(): number | undefined {
		return this.time;
	}
	holder(pid: number): NumberHolder | "gone" | "unknown" {
		return this.now.find(({ identity }) => identity.pid === pid) ?? "gone";
	}
	holders(): readonly NumberHolder[] {
		this.looks++;
		return this.now;
	}
	environment(pid: number): ReadonlyMap<string, string> {
		return new Map(Object.entries(this.environments[pid] ?? {}));
	}
	hasMembers(): boolean {
		return this.now.some(({ groupId }) => groupId === ID);
	}
	send(number: number): "sent" {
		this.sent.push(number);
		return "sent";
	}

	/** The leader was reaped, and these have its number. */
	left(...now: readonly NumberHolder[]): string {
		this.now = now;
		return this.group.signal("SIGKILL");
	}
}

test("a leader that holds its number is signalled, dead or alive, without a look at all processes", () => {
	const scene = new Scene();
	expect(scene.group.signalLeader("SIGTERM")).toBe("sent");
	expect(scene.left(ZOMBIE)).toBe("sent");
	expect(scene.sent).toEqual([ID, -ID]);
	expect(scene.looks).toBe(0);
});

test("a leader whose end was reported is gone, also while its parent holds its number", () => {
	const scene = new Scene();
	scene.now = [ZOMBIE];
	scene.group.leaderEnded();
	expect(scene.group.signalLeader("SIGKILL")).toBe("gone");
	expect(scene.left(ZOMBIE)).toBe("gone");
	expect(scene.left(ZOMBIE, holder(11, 300))).toBe("sent");
	expect(scene.sent).toEqual([-ID]);
});

test("a leader that cannot be read gets no signal, nor does its group", () => {
	const scene = new Scene();
	scene.holder = () => "unknown";
	expect(scene.group.signalLeader("SIGKILL")).toBe("refused");
	expect(scene.group.signal("SIGKILL")).toBe("refused");
	expect(scene.sent).toEqual([]);
});

test("where the process table cannot be read nothing is proven, and nothing thrown", () => {
	const scene = new Scene();
	const { holders } = scene;
	scene.now = [ZOMBIE, holder(11, 105)];
	scene.holders = () => {
		throw new Error("EMFILE: too many open files");
	};
	scene.group.leaderEnded();
	expect(scene.group.signal("SIGKILL")).toBe("unproven");
	expect(scene.sent).toEqual([]);
	scene.holders = holders;
	expect(scene.group.signal("SIGKILL")).toBe("sent");
});

test("no process that has the number of a reaped leader is signalled, whatever was known before", () => {
	const scene = new Scene();
	const member = holder(11, 105);
	scene.now = [LEADER, member];
	scene.time = 1_000;
	scene.group.leaderEnded();
	scene.environments[11] = ENV;
	expect(scene.left(STRANGER, member)).toBe("gone");
	expect(scene.group.signalLeader("SIGKILL")).toBe("gone");
	expect(scene.sent).toEqual([]);
});

test("a group without members costs no scan of all processes", () => {
	const scene = new Scene();
	expect(scene.left()).toBe("gone");
	expect(scene.left(holder(ID, 200, { groupId: 9 }))).toBe("gone");
	expect(scene.looks).toBe(0);
});

test("what started before the leader was last seen is of its group", () => {
	const scene = new Scene();
	scene.time = 150;
	scene.group.noteLeader();
	expect(scene.left(holder(11, 149))).toBe("sent");
	expect(scene.sent).toEqual([-ID]);
});

test.each([
	["started in the tick in which the leader was last seen", holder(11, 150)],
	["started later", holder(11, 151)],
	["is in another session", holder(11, 120, { sessionId: 9 })],
	[
		"is of a system without sessions or ticks",
		holder(11, 120, { sessionId: undefined, startedAt: undefined }),
	],
])("what %s is not proven by its start time", (_what, member) => {
	const scene = new Scene();
	scene.time = 150;
	scene.group.noteLeader();
	expect(scene.left(member)).toBe("unproven");
	expect(scene.sent).toEqual([]);
});

test("a leader that is seen only after another has its number proves nothing", () => {
	const scene = new Scene();
	scene.now = [STRANGER];
	scene.time = 1_000;
	scene.group.noteLeader();
	expect(scene.left(holder(11, 120))).toBe("unproven");
});

test("without a clock of start times the leader is not looked at for nothing", () => {
	const scene = new Scene();
	scene.time = undefined;
	scene.holder = () => expect.unreachable();
	scene.group.noteLeader();
});

test("what carries the run and the incarnation of the leader is of its group", () => {
	const scene = new Scene();
	scene.environments[11] = ENV;
	expect(scene.left(holder(11, 300), holder(12, 301))).toBe("sent");
});

test.each([
	["the marker of another incarnation", { [INCARNATION_VARIABLE]: "run-2" }],
	["the marker of another run", { [MARKER_VARIABLE]: "other" }],
])("%s proves nothing", (_what, other) => {
	const scene = new Scene();
	scene.environments[11] = { ...ENV, ...other };
	expect(scene.left(holder(11, 300))).toBe("unproven");
});

test("a worker without a marker is not found by the lack of one", () => {
	const scene = new Scene();
	const group = new ProcessGroup(LEADER.identity, { env: {} }, scene);
	scene.now = [holder(11, 300)];
	expect(group.signal("SIGKILL")).toBe("unproven");
});

test("a dead member proves by what is known of it, not by an environment", () => {
	const scene = new Scene();
	scene.environments[11] = ENV;
	const dead = holder(11, 300, { condition: "zombie" });
	const living = holder(12, 300);
	expect(scene.left(dead, living)).toBe("unproven");
	scene.now = [LEADER, dead];
	scene.group.leaderEnded();
	expect(scene.left(dead, living)).toBe("sent");
	expect(scene.left(dead)).toBe("gone");
});

test("a member that is known proves the others from look to look, until a look finds none of them", () => {
	const scene = new Scene();
	scene.now = [LEADER, holder(11, 300), holder(12, 300)];
	scene.group.leaderEnded();
	expect(scene.left(holder(12, 300), holder(13, 400))).toBe("sent");
	expect(scene.left(holder(13, 400), holder(14, 500))).toBe("sent");
	expect(scene.left(holder(15, 600))).toBe("unproven");
	expect(scene.left(holder(14, 500))).toBe("unproven");
});

test("what proves a group must still hold the number when every process was looked at", () => {
	const scene = new Scene();
	scene.environments[11] = ENV;
	const [ours, other] = [holder(11, 300), holder(20, 400)];
	// The member ends, and its number goes, while the others are read.
	scene.holder = (pid) =>
		pid === 11 ? holder(11, 300, { groupId: 9 }) : "gone";
	expect(scene.left(ours, other)).toBe("unproven");
	expect(scene.sent).toEqual([]);
});

test("a prover that ends during a look is replaced by another", () => {
	const scene = new Scene();
	scene.environments[11] = ENV;
	scene.environments[12] = ENV;
	const [first, second] = [holder(11, 300), holder(12, 300)];
	scene.holders = () => {
		const seen = scene.now;
		scene.now = [second];
		return seen;
	};
	expect(scene.left(first, second)).toBe("sent");
});

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
