/** Read by OpenMP, OpenBLAS, MKL, BLIS, NumExpr and Apple's Accelerate. All but the last fall back on OpenMP's. */
const OPENMP = "OMP_NUM_THREADS";
const FALLING_BACK = [
	"OPENBLAS_NUM_THREADS",
	"MKL_NUM_THREADS",
	"BLIS_NUM_THREADS",
	"NUMEXPR_NUM_THREADS",
] as const;
const OTHERS = ["VECLIB_MAXIMUM_THREADS"] as const;

/** Threads for each worker, so that all slots together do not use more than the cores. */
export function fairThreads(parallelism: number, slots: number): number {
	return Math.max(1, Math.floor(parallelism / slots));
}

/**
 * The variables that limit the threads of numerical libraries, except those that the user has set, or that would
 * override one of the user's.
 */
export function threadLimits(
	threads: number,
	userEnv: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
	const ours =
		userEnv[OPENMP] === undefined
			? [OPENMP, ...FALLING_BACK, ...OTHERS]
			: OTHERS;
	return Object.fromEntries(
		ours
			.filter((name) => userEnv[name] === undefined)
			.map((name) => [name, String(threads)]),
	);
}
