import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";

/** One import as it is written. */
export interface Import {
	/** Path of the importing file, relative to the sources. */
	readonly from: string;
	/** A path relative to the sources, or the name of a package. */
	readonly to: string;
	readonly kind: "file" | "package";
	/** Gone at run time. */
	readonly typeOnly: boolean;
	/** `export *`. */
	readonly star: boolean;
}

/** Every TypeScript file below a folder, as paths with `/` relative to it; generated code left out. */
export function sourceFiles(folder: string): readonly string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
		.map((entry) =>
			relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"),
		)
		.filter((path) => !path.startsWith("gen/"))
		.sort();
}

/** Source text without its comments: what it does, not what it says. */
export function withoutComments(text: string): string {
	return text
		.replace(/\/\*[\s\S]*?\*\//g, "")
		.replace(/(^|[^:"'`])\/\/.*$/gm, "$1");
}

/** The code of a file. */
export function codeOf(folder: string, path: string): string {
	return withoutComments(readFileSync(join(folder, path), "utf8"));
}

/** The files of names that begin with `#`, relative to the sources. */
export type Subpaths = Readonly<Record<string, string>>;

/** Everything that the code of one file imports, or exports from elsewhere. */
export function importsIn(
	path: string,
	code: string,
	subpaths: Subpaths = {},
): readonly Import[] {
	const found: Import[] = [];
	const add = (specifier: string, typeOnly: boolean, star = false): void => {
		const named = subpaths[specifier];
		const file = specifier.startsWith(".") || named !== undefined;
		const to = file
			? (named ?? posix.join(posix.dirname(path), specifier))
			: specifier;
		found.push({
			from: path,
			to,
			kind: file ? "file" : "package",
			typeOnly,
			star,
		});
	};
	for (const [, type, clause = "", specifier = ""] of code.matchAll(
		/^\s*(?:import|export)\s+(type\s+)?([\w$*\s{},]+?)\s+from\s+"([^"]+)"/gm,
	)) {
		add(
			specifier,
			type !== undefined || onlyTypes(clause),
			/^\*(?!\s*as)/.test(clause),
		);
	}
	for (const [, specifier = ""] of code.matchAll(/^\s*import\s+"([^"]+)"/gm))
		add(specifier, false);
	for (const [, effect, specifier = ""] of code.matchAll(
		/\b(await\s+|return\s+)?import\(\s*"([^"]+)"\s*\)/g,
	)) {
		add(specifier, effect === undefined); // Otherwise the type of something, written in place.
	}
	return found;
}

/** Everything that one file imports, or exports from elsewhere. */
export function importsOf(folder: string, path: string): readonly Import[] {
	return importsIn(path, codeOf(folder, path), subpathsOf(folder));
}

/** What the package says of its own names, for Node. */
function subpathsOf(folder: string): Subpaths {
	const manifest = join(folder, "../package.json");
	const { imports = {} }: { imports?: Record<string, Record<string, string>> } =
		JSON.parse(readFileSync(manifest, "utf8"));
	return Object.fromEntries(
		Object.entries(imports).map(([name, { default: file = "" }]) => [
			name,
			relative("src", file),
		]),
	);
}

/** `{ type A, type B }` */
function onlyTypes(clause: string): boolean {
	const names = /^\{([^}]*)\}$/.exec(clause.trim())?.[1]?.split(",") ?? [""];
	return names.every(
		(name) =>
			/^\s*type\s/.test(name) || (name.trim() === "" && names.length > 1),
	);
}

/** A circle of imports that exists at run time, as a path that ends where it begins; `undefined` when there is none. */
export function runTimeCycle(
	imports: readonly Import[],
): readonly string[] | undefined {
	const next = new Map<string, string[]>();
	for (const { from, to, kind, typeOnly } of imports) {
		if (kind === "file" && !typeOnly)
			next.set(from, [...(next.get(from) ?? []), to]);
	}
	const done = new Set<string>();
	const visit = (
		file: string,
		path: readonly string[],
	): readonly string[] | undefined => {
		const seen = path.indexOf(file);
		if (seen >= 0) return [...path.slice(seen), file];
		if (done.has(file)) return undefined;
		for (const target of next.get(file) ?? []) {
			const cycle = visit(target, [...path, file]);
			if (cycle) return cycle;
		}
		done.add(file);
		return undefined;
	};
	for (const file of next.keys()) {
		const cycle = visit(file, []);
		if (cycle) return cycle;
	}
	return undefined;
}

/**
 * The files that import each other in circles of any length, types included: the strongly connected components with more
 * than one file, each sorted, the largest first.
 *
 * Source: Tarjan, "Depth-first search and linear graph algorithms", 1972.
 */
export function circles(
	imports: readonly Import[],
): readonly (readonly string[])[] {
	const next = new Map<string, string[]>();
	for (const { from, to, kind } of imports)
		if (kind === "file") next.set(from, [...(next.get(from) ?? []), to]);
	const order = new Map<string, number>();
	const stack: string[] = [];
	const result: (readonly string[])[] = [];
	/** Returns the earliest file on the stack that is reached from this one. */
	const visit = (file: string): number => {
		const index = order.size;
		order.set(file, index);
		stack.push(file);
		let earliest = index;
		for (const target of next.get(file) ?? [])
			if (!order.has(target)) earliest = Math.min(earliest, visit(target));
			else if (stack.includes(target))
				earliest = Math.min(earliest, order.get(target) ?? index);
		if (earliest === index) {
			const members = stack.splice(stack.indexOf(file));
			if (members.length > 1) result.push(members.sort());
		}
		return earliest;
	};
	for (const file of next.keys()) if (!order.has(file)) visit(file);
	return result.sort((a, b) => b.length - a.length);
}
