/**
 * esbuild writes a class that refers to itself as `var Tuple = class _Tuple`, and Node prints the second name for values
 * and uncaught errors. Its own remedy, `keepNames`, costs a call for each function that is made, also while a pool runs.
 * Nothing moves to another line: source maps stay true.
 */
export function withClassNames(code: string): string {
	return code.replace(
		/^(\t| )*(?:var|let|const) (\w+) = class _\2\d* (?:extends [^{\n]+ )?\{$/gm,
		(line, _, name) =>
			`${line} static { Object.defineProperty(this, "name", { value: "${name}", configurable: true }); }`,
	);
}
