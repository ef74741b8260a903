import { CommandFailed } from "../command/command-failed.ts";

/**
 * Reads `key=value` pairs: a value is JSON where it can be read as such, else text.
 *
 * @throws CommandFailed for what is no pair.
 */
export function callArguments(
	pairs: readonly string[],
): Readonly<Record<string, unknown>> {
	return Object.fromEntries(
		pairs.map((pair) => {
			const [, key, value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
			if (key === undefined)
				throw new CommandFailed(
					"usage",
					`An argument is key=value, for example numbers=[1,2], and not: ${pair}`,
				);
			return [key, parsedValue(value)];
		}),
	);
}

function parsedValue(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return text;
	}
}
