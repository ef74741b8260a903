import type { Duplex } from "node:stream";
import type { Clock } from "../../contract/clock.ts";
import {
	mayLive,
	type ProcessExit,
	type ProcessIdentity,
} from "../../contract/identity.ts";
import type {
	OwnGroup,
	ProcessHost,
	ProcessSpec,
} from "../../contract/world.ts";
import { ConnectedProcess } from "../connected-process.ts";

/** Between two looks at a process that is stuck in the kernel. */
const LAST_PAUSE_MS = 100;

/** A worker whose parent is another process than this one, which keeps its pid until this side has seen its end. */
export class ForkedProcess extends ConnectedProcess {
	readonly #host: ProcessHost;
	readonly #resolve: (exit: ProcessExit) => void;
	#end: "open" | "reported" = "open";
	#isParentLost = false;

	constructor(
		group: OwnGroup,
		identity: ProcessIdentity,
		connections: ReadonlyMap<number, Duplex>,
		spec: ProcessSpec,
		{ source, host }: { readonly source: string; readonly host: ProcessHost },
	) {
		const { promise, resolve } = Promise.withResolvers<ProcessExit>();
		super(source, identity, promise, group, spec, (fd) => connections.get(fd));
		this.#resolve = resolve;
		this.#host = host;
	}

	get isParentLost(): boolean {
		return this.#isParentLost;
	}

	/** The parent is gone: the process is killed, and its end is reported when it is gone. */
	lost(clock: Clock): void {
		this.#isParentLost = true;
		this.group.signal("SIGKILL");
		const look = (pauseMs: number): void => {
			if (mayLive(this.identity, this.#host.observe(this.identity.pid))) {
				clock.after(pauseMs, () => look(Math.min(2 * pauseMs, LAST_PAUSE_MS)));
				return;
			}
			this.ended({ kind: "signal", signal: "SIGKILL" });
		};
		look(1);
	}

	/** The parent has seen its end. While it lives it keeps the pid until this returns. */
	ended(exit: ProcessExit): void {
		if (this.#end === "reported") return;
		this.#end = "reported";
		// The report may be old: the parent can have ended since, and another process have the number.
		this.group.leaderEnded();
		this.stdin?.destroy(); // As Node does with the input of its own children.
		this.#resolve(exit);
	}
}
