/** Names this plugin and its option in Stryker's configuration. */
export const SAMPLE = "sample";

interface Checked {
	readonly id: string;
}

/** Stryker asks a checker whether a mutant can run; this one lets every nth of them. */
class SampleChecker {
	static readonly inject = ["options"] as const;
	readonly #every: number;

	constructor(options: { readonly [SAMPLE]?: number }) {
		this.#every = options[SAMPLE] ?? 1;
	}

	async init(): Promise<void> {}

	async check(
		mutants: readonly Checked[],
	): Promise<Record<string, { status: string; reason?: string }>> {
		return Object.fromEntries(
			mutants.map(({ id }) => [
				id,
				Number(id) % this.#every === 0
					? { status: "passed" }
					: { status: "compileError", reason: "not in the sample" },
			]),
		);
	}

	async group(mutants: readonly Checked[]): Promise<string[][]> {
		return [mutants.map(({ id }) => id)];
	}
}

export const strykerPlugins: readonly object[] = [
	{ kind: "Checker", name: SAMPLE, injectableClass: SampleChecker },
];
