import { SnakepitError } from "../../errors.ts";
import type { Call } from "./call.ts";

/**
 * The error of an attempt as that of its call, of which an earlier attempt may have
 * begun: another error where that one has `ran: "no"`, for an adapter may throw one
 * and the same for every call. It differs in nothing else.
 */
export function asBegun(error: SnakepitError): SnakepitError {
	if (error.ran === "maybe") return error;
	return changed(error, { ran: "maybe" });
}

/** The error of a call that was made again, with its `attempts`; that of any other call as it is. */
export function afterAttempts(
	error: SnakepitError,
	{ retried, attempts }: Pick<Call, "retried" | "attempts">,
): SnakepitError {
	if (retried === undefined) return error;
	const message = `After ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${error.message}`;
	return changed(error, { attempts, message });
}

/** The error of one call of a map, with the `item` it is of; any other as it is. */
export function ofItem(error: unknown, item: number): unknown {
	if (!(error instanceof SnakepitError)) return error;
	return changed(error, { item, message: `Item ${item}: ${error.message}` });
}

/** Another error that is as this one but for what is given. */
function changed(
	error: SnakepitError,
	changes: Partial<
		Pick<SnakepitError, "ran" | "item" | "attempts" | "message">
	>,
): SnakepitError {
	const { stack: _, ...fields } = Object.getOwnPropertyDescriptors(error);
	const { message } = changes;
	// Not by its descriptor: that may be a getter of the very error that has it.
	const stack =
		message === undefined
			? error.stack
			: error.stack?.replace(error.message, () => message);
	// Made by the constructor, so that it is an error to the engine as well.
	const copy = new Error();
	Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
	Object.defineProperties(copy, {
		...fields,
		stack: { ...HIDDEN, value: stack },
	});
	for (const [name, value] of Object.entries(changes)) {
		const enumerable = fields[name as keyof typeof fields]?.enumerable ?? true;
		Object.defineProperty(copy, name, { ...HIDDEN, enumerable, value });
	}
	return copy as SnakepitError;
}

const HIDDEN = { configurable: true, enumerable: false, writable: true };
