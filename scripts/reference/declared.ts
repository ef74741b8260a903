import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../run.ts";

/** One property of an interface, as it is written. */
export interface Property {
	readonly option: string;
	readonly type: string;
	readonly comment: string;
	/** What `@default` says, the last tag of the comment. */
	readonly default: string | undefined;
}

/** What a source file says of an exported interface. */
export interface Declared {
	readonly comment: string;
	readonly properties: readonly Property[];
}

const COMMENT = String.raw`\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*`;
/** To the semicolon that the next property, or the end, comes after: types may have semicolons of their own. */
const PROPERTY = new RegExp(
	String.raw`^\t(?:${COMMENT})?readonly (\w+)(\??):\s([\s\S]*?);$(?=\n\n?\t(?:\/\*\*|readonly )|\n$(?![\s\S]))`,
	"gm",
);
const ENTRY = new RegExp(String.raw`^\t${COMMENT}(\w+):`, "gm");
const LAST_COMMENT = new RegExp(`${COMMENT}$`);

/**
 * What an interface declares itself, without what it extends.
 *
 * @throws Error when the file exports no such interface, or leaves it without a comment.
 */
export function declaredInterface(file: string, name: string): Declared {
	const head = new RegExp(
		`export interface ${name}(<[^{]*>)?\\s+(extends [^{]*)?\\{`,
	);
	const found = head.exec(sourceOf(file))?.[0];
	const { before, body } = parts(file, found ?? `export interface ${name} {`);
	const properties = [...body.matchAll(PROPERTY)].map(
		([, comment = "", option = "", left = "", text = ""]) => {
			const type = text.replaceAll(/\s+/g, " ").trim().replace(/^\| /, "");
			const [meaning = "", leftOut] = plain(comment).split(/ ?@default /);
			return {
				option,
				type: left === "?" ? given(type) : type,
				comment: meaning,
				default: leftOut,
			};
		},
	);
	const comment = plain(LAST_COMMENT.exec(before)?.[1] ?? "");
	if (comment === "") throw new Error(`${file}: ${name} has no comment.`);
	return { comment, properties };
}

/** Whatever can be left out can be undefined: to say it of each says nothing. */
function given(type: string): string {
	const without = type.replace(/ \| undefined$/, "");
	return without.replace(/^\((\([^()]*\) => \w+)\)$/, "$1");
}

/** The comments of the entries of an exported table: the reasons for its values. */
export function commentsOf(
	file: string,
	name: string,
): Readonly<Record<string, string>> {
	const { body } = parts(file, `export const ${name}`);
	return Object.fromEntries(
		[...body.matchAll(ENTRY)].map(([, comment = "", entry = ""]) => [
			entry,
			plain(comment),
		]),
	);
}

/** The names of option types that a file exports. */
export function exportedOptionTypes(file: string): readonly string[] {
	return [...sourceOf(file).matchAll(/\b([A-Z]\w*Options)\b/g)].map(
		([name]) => name,
	);
}

function parts(file: string, head: string): { before: string; body: string } {
	const source = sourceOf(file);
	const start = source.indexOf(head);
	if (start === -1) throw new Error(`${file} has no ${head}.`);
	return {
		before: source.slice(0, start),
		body: source.slice(start + head.length, source.indexOf("\n}", start) + 1),
	};
}

function sourceOf(file: string): string {
	return readFileSync(join(root, file), "utf8");
}

/** A comment without its signs. */
function plain(comment: string): string {
	return comment
		.replaceAll(/^\s*\*/gm, "")
		.replaceAll(/\{@link (\w+)\}/g, "`$1`")
		.replaceAll(/\s+/g, " ")
		.trim();
}
