import type { ToolSource } from "@snakepit/adapter-python";

/**
 * What the words of a command name, as the option `tools` has it: `tools.py`, `package.module`, and with names after a
 * colon what is exposed, as in `math:sqrt,gcd`. Python reads them in the same way (snakepit_bridge/cli/load_target.py).
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
