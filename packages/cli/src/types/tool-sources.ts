import type { ToolSource } from "@snakepit/adapter-python";

/**
 * The value of the option `tools` for the words of a command: `tools.py`, `package.module`, and, after a colon, the
 * names to expose, as in `math:sqrt,gcd`. Python reads them in the same way (snakepit_bridge/cli/command.py).
 */
export function toolSources(targets: readonly string[]): readonly ToolSource[] {
	return targets.map((target) => {
		const colon = target.lastIndexOf(":");
		const place = colon < 0 ? target : target.slice(0, colon);
		const expose = colon < 0 ? undefined : target.slice(colon + 1).split(",");
		return place.endsWith(".py") || place.includes("/")
			? { file: place, expose }
			: { module: place, expose };
	});
}
