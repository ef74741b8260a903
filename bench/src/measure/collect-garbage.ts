/** Collects everything that is not used any more. The processes of rows run with --expose-gc. */
export function collectGarbage(): void {
	if (globalThis.gc === undefined)
		throw new TypeError("start Node with --expose-gc");
	// What a finalizer lets go of is collected by the next one.
	globalThis.gc();
	globalThis.gc();
}
