import type { ResolvedOptions } from "../options.ts";

/** What workers depend on: without the functions of this program, which another load of a module makes anew. */
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
