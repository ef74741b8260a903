import {
	isSameProcess,
	mayLive,
	type ProcessIdentity,
} from "../contract/identity.ts";
import type { ProcessFacts } from "../contract/world.ts";
import type { SnapshotHost } from "./descendants.ts";

type TreeHost = Pick<
	SnapshotHost,
	"descendants" | "halted" | "observe" | "signal"
>;

/** How often nothing may be found below a guard that is held before it is ended: the first look may have missed it. */
const LOOKS = 2;

/**
 * The guards of one chain and what is below them. Whatever a worker has left is below them as long as one of them lives,
 * since each is a subreaper: where they cannot act themselves, others end what is below them first, and then them.
 */
export class GuardTree {
	readonly #host: TreeHost;
	/** From the outside in. */
	#guards: readonly ProcessIdentity[];
	#emptyLooks = 0;

	constructor(host: TreeHost, guards: readonly ProcessIdentity[]) {
		this.#host = host;
		this.#guards = guards;
	}

	/** The guards that the outermost one, which leads their group, has forked. */
	static below(host: TreeHost, outer: ProcessIdentity): GuardTree {
		const inner = host
			.descendants(outer)
			.filter(({ groupId }) => groupId === outer.pid);
		return new GuardTree(host, [
			outer,
			...inner.map(({ identity }) => identity),
		]);
	}

	/** Those that live. */
	guards(): readonly ProcessIdentity[] {
		this.#guards = this.#guards.filter((guard) =>
			mayLive(guard, this.#host.observe(guard.pid)),
		);
		return this.#guards;
	}

	/** Continues those that were stopped; returns whether one is held by what traces it, and cannot be continued. */
	wake(): "free" | "held" {
		const how = this.guards().map((guard) => {
			const halted = this.#host.halted(guard);
			if (halted === "stopped") this.#host.signal(guard, "SIGCONT");
			return halted;
		});
		return how.includes("traced") ? "held" : "free";
	}

	/** Everything that lives below the guards, ancestors first. */
	below(): readonly ProcessFacts[] {
		const guards = this.guards();
		const processes = new Map<number, ProcessFacts>();
		for (const guard of guards)
			for (const each of this.#host.descendants(guard))
				if (!guards.some((other) => isSameProcess(other, each.identity)))
					processes.set(each.identity.pid, each);
		return [...processes.values()];
	}

	/** Kills what is below the guards, or, where nothing is any more, the guards. Returns what of both lives. */
	kill(): readonly ProcessIdentity[] {
		const below = this.below().map(({ identity }) => identity);
		this.#emptyLooks = below.length === 0 ? this.#emptyLooks + 1 : 0;
		const guards = this.guards();
		const due = this.#emptyLooks < LOOKS ? below : guards;
		// Descendants first: without its ancestor, what is forked meanwhile would be found by nothing.
		for (const each of [...due].reverse()) this.#host.signal(each, "SIGKILL");
		return [...guards, ...below];
	}
}
