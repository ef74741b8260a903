import type { Clock } from "../contract/clock.ts";
import {
	INCARNATION_VARIABLE,
	isSameProcess,
	judgeGroup,
	MARKER_VARIABLE,
	type ProcessIdentity,
} from "../contract/identity.ts";
import { withFallback } from "../contract/thrown.ts";
import type {
	OwnGroup,
	ProcessSpec,
	SignalOutcome,
} from "../contract/world.ts";

/**
 * Sends a signal to a pid, or to the group `-number`.
 *
 * The caller has just proven whose number it is.
 */
export function sendSignal(
	number: number,
	signal: NodeJS.Signals,
): SignalOutcome {
	// 0 and -1 mean "my group" and "everyone": never.
	if (!Number.isInteger(number) || Math.abs(number) < 2) return "refused";
	try {
		process.kill(number, signal);
		return "sent";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ESRCH"
			? "gone"
			: "refused";
	}
}

/**
 * Whether a group of this number has any member, dead ones that were not reaped included: that of a process that has
 * just ended nearly always has none, and to ask costs no scan of every process. Sends nothing.
 */
export function hasMembers(groupId: number): boolean {
	if (!Number.isInteger(groupId) || groupId < 2) return false;
	try {
		process.kill(-groupId, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code !== "ESRCH";
	}
}

/** A process that has a group's number as its pid, or is in the group. */
export interface NumberHolder {
	readonly identity: ProcessIdentity;
	readonly groupId: number;
	readonly condition: "alive" | "zombie";
	/** `undefined` where the system does not report it. */
	readonly sessionId: number | undefined;
	/** On the clock of {@link GroupSystem.moment}; `undefined` where there is none. */
	readonly startedAt: number | undefined;
}

/** What a group asks of the system. */
export interface GroupSystem {
	/** Now, on the clock that start times are counted on; `undefined` where start times are not counted. */
	moment(): number | undefined;
	/** The process with one pid, also a dead one that was not reaped. */
	holder(pid: number): NumberHolder | "gone" | "unknown";
	/** Every process that holds a number, dead ones that were not reaped included. */
	holders(groupId: number): readonly NumberHolder[];
	/** Variables of the environment that a process was started with. */
	environment(
		pid: number,
		variables: readonly string[],
	): ReadonlyMap<string, string>;
	/** Whether a group of this number has any member, dead ones that were not reaped included. */
	hasMembers(groupId: number): boolean;
	/** Sends to a pid, or to the group `-number`. */
	send(number: number, signal: NodeJS.Signals): SignalOutcome;
}

/** The prover of a look can end before the look does. */
const LOOKS = 5;

/** A look costs two small reads for each worker: with 100 of them, a thousandth of the time. */
const LOOK_MS = 2_000;

type MarkedEnvironment = Pick<ProcessSpec, "env">;

/**
 * The group of one leader that this program started.
 *
 * A signal is sent in the same synchronous stretch as its proof: the leader has
 * its pid and start time still, or a member is proven. A member is proven when
 *
 * - an earlier proven look showed it,
 * - it carries the run and the incarnation of the leader in its environment, or
 * - it started before a moment at which the leader still held the number, and is
 *   in the leader's session, which only descendants of the leader can be in.
 */
export class ProcessGroup implements OwnGroup {
	readonly #leader: ProcessIdentity;
	readonly #env: MarkedEnvironment["env"];
	readonly #system: GroupSystem;
	/** Over: its end was reported, though its parent may still hold its number. */
	#leaderIs: "running" | "over" = "running";
	/** The last moment at which the leader was seen to hold the number. */
	#heldAt: number | undefined;
	/** The members at the last look, if that was proven. */
	#known: readonly ProcessIdentity[] = [];

	constructor(
		leader: ProcessIdentity,
		{ env }: MarkedEnvironment,
		system: GroupSystem,
	) {
		this.#leader = leader;
		this.#env = env;
		this.#system = system;
	}

	get id(): number {
		return this.#leader.pid;
	}

	/** Has no effect without a clock of start times, or once the leader's number is not its own. */
	noteLeader(): "noted" | "nothing" {
		// First, since a look costs a process where there is no such clock.
		const moment = this.#system.moment();
		if (moment === undefined || this.#seeLeader() !== "held") return "nothing";
		this.#heldAt = moment;
		return this.#leaderIs === "running" ? "noted" : "nothing";
	}

	leaderEnded(): void {
		this.#leaderIs = "over";
		this.noteLeader();
		this.#proveMembers();
	}

	signalLeader(signal: NodeJS.Signals): SignalOutcome {
		if (this.#leaderIs === "over") return "gone";
		const leader = this.#seeLeader();
		if (leader === "held") return this.#system.send(this.id, signal);
		return leader === "unknown" ? "refused" : "gone";
	}

	signal(signal: NodeJS.Signals): SignalOutcome {
		if (this.#leaderIs === "running") {
			const leader = this.#seeLeader();
			if (leader === "held") return this.#system.send(-this.id, signal);
			if (leader === "unknown") return "refused";
		}
		const whose = this.#proveMembers();
		if (whose === "ours") return this.#system.send(-this.id, signal);
		return whose === "unknown" ? "unproven" : "gone";
	}

	#seeLeader(): "held" | "gone" | "unknown" {
		const holder = this.#system.holder(this.id);
		if (typeof holder === "string") return holder;
		return isSameProcess(holder.identity, this.#leader) ? "held" : "gone";
	}

	#proveMembers(): "ours" | "unknown" | "gone" {
		const known = this.#known;
		this.#known = [];
		for (let look = 0; look < LOOKS; look++) {
			// Checked first: nearly always no member is left, and that costs no scan of every process.
			if (!this.#system.hasMembers(this.id)) return "gone";
			const holders = this.#holders();
			if (holders === undefined) {
				this.#known = known;
				return "unknown";
			}
			if (!holders.some(({ condition }) => condition === "alive"))
				return "gone";
			const verdict = judgeGroup(this.#leader, holders, (holder) =>
				this.#isProven(holder, known),
			);
			if (verdict.whose !== "ours")
				return verdict.whose === "unknown" ? "unknown" : "gone";
			// Held from before the look to after it: everything seen in it is ours.
			if (this.#holdsStill(verdict.prover)) {
				this.#known = holders.map(({ identity }) => identity);
				return "ours";
			}
		}
		return "unknown";
	}

	/** `undefined` if the process table cannot be read now: handling an end must not fail because of it. */
	#holders(): readonly NumberHolder[] | undefined {
		return withFallback(undefined, () => this.#system.holders(this.id));
	}

	#holdsStill({ identity }: NumberHolder): boolean {
		const holder = this.#system.holder(identity.pid);
		return (
			typeof holder !== "string" &&
			isSameProcess(holder.identity, identity) &&
			(holder.groupId === this.id || identity.pid === this.id)
		);
	}

	#isProven(
		{ identity, condition, sessionId, startedAt }: NumberHolder,
		known: readonly ProcessIdentity[],
	): boolean {
		if (known.some((each) => isSameProcess(each, identity))) return true;
		if (
			sessionId === this.id &&
			startedAt !== undefined &&
			this.#heldAt !== undefined &&
			// A tick is long: in the same one the number may have been given away.
			startedAt < this.#heldAt
		)
			return true;
		return condition === "alive" && this.#isMarked(identity.pid);
	}

	#isMarked(pid: number): boolean {
		const names = [MARKER_VARIABLE, INCARNATION_VARIABLE];
		const environment = this.#system.environment(pid, names);
		return names.every(
			(name) =>
				this.#env[name] !== undefined &&
				environment.get(name) === this.#env[name],
		);
	}
}

/**
 * The groups that this program started. Their leaders are looked at from time to
 * time: what a leader started before the last look can be distinguished
 * from strangers after its end, also without a marker.
 */
export class OwnGroups {
	readonly #groups = new Set<ProcessGroup>();
	readonly #clock: Clock;
	readonly #alsoLook: (which: "first" | "further") => void;

	/** @param alsoLook is called at each look, and before the first one. */
	constructor(
		clock: Clock,
		alsoLook: (which: "first" | "further") => void = () => {},
	) {
		this.#clock = clock;
		this.#alsoLook = alsoLook;
	}

	add(group: ProcessGroup): void {
		if (group.noteLeader() !== "noted") return;
		this.#groups.add(group);
		if (this.#groups.size > 1) return;
		// After the start that is under way.
		this.#clock.soon(() => this.#alsoLook("first"));
		this.#lookLater();
	}

	#lookLater(): void {
		this.#clock.after(LOOK_MS, () => {
			this.#alsoLook("further");
			for (const group of this.#groups)
				if (group.noteLeader() !== "noted") this.#groups.delete(group);
			if (this.#groups.size > 0) this.#lookLater();
		});
	}
}
