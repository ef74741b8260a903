import type { ResolvedOptions } from "../options.ts";

/** The options that workers depend on. The functions of this program are left out, because loading a module again creates new ones. */
export function comparedOptions(options: ResolvedOptions): unknown {
	const { hostFunctions, kind, environment, ...rest } = options;
	const { requirements, python, directory } = environment ?? {};
	return {
		...rest,
		transport: kind.transport.name,
		hostFunctions: [...hostFunctions.keys()].sort(),
		environment:
			requirements === undefined
				? environment
				: { requirements, python, directory },
	};
}
