import { OptionsError } from "@snakepit/core";
import type { LaunchSpec } from "@snakepit/core/adapter";

/** The placeholders, in a command or its environment, for the place where the program listens. */
export type Placeholder = "socket" | "port" | "fd";

const PLACEHOLDERS = /\{(socket|port|fd)\}/g;

/**
 * Replaces a placeholder by its value, in arguments and in variables.
 *
 * @param value `undefined`: there is none, because the program chooses where it listens.
 * @throws OptionsError `INVALID_OPTION` when the placeholder is missing, or another one is there.
 */
export function fillIn(
	spec: LaunchSpec,
	listen: string | object,
	value: readonly [Placeholder, string] | undefined,
): LaunchSpec {
	const shown = typeof listen === "string" ? `"${listen}"` : "{ fromLine }";
	let used = 0;
	const filled = (text: string): string =>
		text.replace(PLACEHOLDERS, (placeholder, name: string) => {
			if (value === undefined || name !== value[0])
				throw misplaced(placeholder, shown, value?.[0]);
			used++;
			return value[1];
		});
	const args = spec.args?.map(filled);
	const env = Object.fromEntries(
		Object.entries(spec.env ?? {}).map(([name, text]) => [
			name,
			text === undefined ? undefined : filled(text),
		]),
	);
	if (value !== undefined && used === 0) throw missing(value[0], shown);
	return { ...spec, args, env };
}

function missing(name: Placeholder, listen: string): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		ran: "no",
		message: `http: with listen: ${listen} the program learns from its command or environment where to listen: put {${name}} into "command" or "env".`,
	});
}

function misplaced(
	placeholder: string,
	listen: string,
	right: Placeholder | undefined,
): OptionsError {
	return new OptionsError({
		code: "INVALID_OPTION",
		ran: "no",
		message: `http: ${placeholder} is not available with listen: ${listen}, which ${right === undefined ? "has no placeholder" : `has {${right}}`}.`,
	});
}
