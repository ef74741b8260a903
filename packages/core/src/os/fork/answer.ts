import { constants } from "node:os";
import type { ProcessExit } from "../../contract/identity.ts";
import { FrameError } from "./frame-reader.ts";

/** The version of the protocol that this package implements. */
const PROTOCOL_VERSION = 2;

/** What a process that forks reports, about itself or about one start. */
export type Answer =
	| { readonly type: "ready"; readonly pid: number }
	/** It cannot go on. */
	| { readonly type: "crashed"; readonly reason: string }
	/** It ends, and has left nothing running but `left` processes of other users. */
	| { readonly type: "ended"; readonly killed: number; readonly left: number }
	| AnswerOf;

export type AnswerOf =
	/** The process exists and waits for permission to run. */
	| { readonly type: "held"; readonly id: number; readonly pid: number }
	/** The program runs. */
	| { readonly type: "running"; readonly id: number }
	| {
			readonly type: "failed";
			readonly id: number;
			/** As the system numbers its errors; 0 where it is none of the system's. */
			readonly errno: number;
			readonly message: string;
	  }
	| {
			readonly type: "exited";
			readonly id: number;
			readonly exit: ProcessExit;
	  };

/**
 * Checks a message of a process that forks.
 *
 * @throws FrameError when it is none.
 */
export function parseAnswer(
	message: Readonly<Record<string, unknown>>,
): Answer {
	const { type } = message;
	switch (type) {
		case "ready":
			if (message["version"] !== PROTOCOL_VERSION)
				throw new FrameError(
					`the guard speaks version ${String(message["version"])} of its protocol, this package ${PROTOCOL_VERSION}`,
				);
			return { type, pid: count(message, "pid") };
		case "crashed":
			return { type, reason: text(message, "reason") };
		case "ended":
			return {
				type,
				killed: count(message, "killed"),
				left: count(message, "left"),
			};
		case "held":
			return { type, id: count(message, "id"), pid: count(message, "pid") };
		case "running":
			return { type, id: count(message, "id") };
		case "failed":
			return {
				type,
				id: count(message, "id"),
				errno: count(message, "errno"),
				message: text(message, "message"),
			};
		case "exited":
			return { type, id: count(message, "id"), exit: exitOf(message) };
		default:
			throw new FrameError(
				`no answer has the type ${JSON.stringify(type)?.slice(0, 40)}`,
			);
	}
}

// Reversed, because two have an older second name after their usual one: SIGIOT, SIGPOLL.
const SIGNALS = new Map(
	Object.entries(constants.signals)
		.reverse()
		.map(([name, number]) => [number, name as NodeJS.Signals]),
);

function exitOf(message: Readonly<Record<string, unknown>>): ProcessExit {
	const status = count(message, "status");
	if (message["how"] === "code") return { kind: "code", code: status };
	const signal = SIGNALS.get(status);
	// A real-time signal has no name here; shells report it like this.
	return signal === undefined
		? { kind: "code", code: 128 + status }
		: { kind: "signal", signal };
}

function count(
	message: Readonly<Record<string, unknown>>,
	field: string,
): number {
	const value = message[field];
	if (!Number.isSafeInteger(value) || (value as number) < 0)
		throw new FrameError(`${message["type"]} without ${field}`);
	return value as number;
}

function text(
	message: Readonly<Record<string, unknown>>,
	field: string,
): string {
	const value = message[field];
	if (typeof value !== "string")
		throw new FrameError(`${message["type"]} without ${field}`);
	return value;
}
