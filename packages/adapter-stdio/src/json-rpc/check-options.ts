import {
	aFunction,
	anObject,
	type Check,
	checkOptions,
	oneOf,
	optional,
} from "@snakepit/core/options";
import { STDIO_CHECKS } from "../stdio-options.ts";
import type { JsonRpcOptions } from "./options.ts";

export const JSON_RPC_CHECKS: Readonly<Record<keyof JsonRpcOptions, Check>> = {
	...STDIO_CHECKS,
	framing: optional(oneOf("lines", "content-length")),
	ready: optional(aFunction),
	handlers: optional(anObject),
	cancel: optional((value) =>
		value === "none"
			? undefined
			: aFunction(value) && 'must be a function or "none"',
	),
	cancelled: optional(oneOf("answered", "at_once", "unknown")),
	progress: optional(anObject),
	onGarbage: optional(oneOf("log", "break")),
	leave: optional(aFunction),
};

/** @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`. */
export function checkJsonRpcOptions(options: unknown): void {
	checkOptions("jsonRpc", options, JSON_RPC_CHECKS);
}
