import type { SnakepitError } from "../errors.ts";
import type { Call } from "./call.ts";
import type { Changes } from "./changes.ts";
import type { DispatcherSetting } from "./dispatcher-setting.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** The one place where a call ends for its caller. */
export class CallSettlement {
	/** `"withheld"`: the program is about to die, and an error that nobody catches would end it first. */
	failures: "told" | "withheld" = "told";
	readonly #waiting: Pick<WaitingRoom, "remove">;
	readonly #room: Pick<Changes, "tell">;
	readonly #onSettled: DispatcherSetting["onSettled"];

	/** @param room told of each call that is over. */
	constructor(
		waiting: Pick<WaitingRoom, "remove">,
		room: Pick<Changes, "tell">,
		onSettled: DispatcherSetting["onSettled"],
	) {
		this.#waiting = waiting;
		this.#room = room;
		this.#onSettled = onSettled;
	}

	/** Ends a call, once: one that waits leaves the line, one that runs is cancelled on its worker. */
	settle(call: Call, error: SnakepitError | undefined): void {
		const { state } = call;
		if (state.kind === "settled") return;
		call.state = { kind: "settled" };
		call.unwatch();
		if (state.kind === "waiting") {
			state.timer?.cancel();
			this.#waiting.remove(call);
		} else if (error !== undefined) {
			state.attempt.cancel(error);
		}
		this.#room.tell();
		this.#onSettled(call, error);
		if (error === undefined) call.work.succeed();
		else if (this.failures === "told") call.work.fail(error);
	}
}
