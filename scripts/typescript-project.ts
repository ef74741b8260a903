import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
	isInterfaceDeclaration,
	type Node,
	type PropertySignatureDeclaration,
	SyntaxKind,
} from "typescript/unstable/ast";
import {
	API,
	type Checker,
	type Project,
	type Symbol as TypeScriptSymbol,
} from "typescript/unstable/sync";
import { root } from "./run.ts";

export type { TypeScriptSymbol };

/** What stands for a declaration elsewhere. */
const ALIASES: ReadonlySet<SyntaxKind> = new Set([
	SyntaxKind.ImportSpecifier,
	SyntaxKind.ExportSpecifier,
]);

/** What the comment at a declaration has. */
export interface Comment {
	readonly meaning: string;
	/** The texts of its tags, by their names. */
	readonly tags: Readonly<Record<string, string>>;
}

/** A member of an interface; its type as it is written. */
export interface Member extends Comment {
	readonly name: string;
	readonly type: string;
}

type Fields = ReadonlyMap<
	string,
	{ readonly symbol: TypeScriptSymbol; readonly text: string }
>;

const line = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** A type as a reader of pages needs it: what can be left out can be undefined, which says nothing. */
function typeOf({ type, postfixToken }: PropertySignatureDeclaration): string {
	const text = line(type.getText()).replace(/^\| /, "");
	if (postfixToken === undefined) return text;
	return text
		.replace(/ \| undefined$/, "")
		.replace(/^\((\([^()]*\) => \w+)\)$/, "$1");
}

/** Writes a `tsconfig.json` that includes the sources of all packages, and returns its path. */
function allPackages(): string {
	return writeConfig(
		join(root, "node_modules/.cache/reference"),
		{ noEmit: true, rootDir: root, customConditions: ["snakepit-source"] },
		join(root, "packages/*/src"),
	);
}

/** Writes a `tsconfig.json` into a directory, and returns its path. */
export function writeConfig(
	directory: string,
	compilerOptions: object,
	include: string,
): string {
	const config = join(directory, "tsconfig.json");
	const extend = join(root, "tsconfig.base.json");
	mkdirSync(directory, { recursive: true });
	writeFileSync(
		config,
		JSON.stringify({ extends: extend, compilerOptions, include: [include] }),
	);
	return config;
}

/** An address from which users import. */
export interface PackageEntry {
	/** The folder of its package, and that's name. */
	readonly folder: string;
	readonly name: string;
	readonly address: string;
	/** A path in the folder. */
	readonly source: string;
}

/** What every package exports; a package of a command exports nothing. */
export function packageEntries(): readonly PackageEntry[] {
	return globSync("packages/*/package.json", { cwd: root }).flatMap((path) => {
		const { name, exports = {} } = JSON.parse(
			readFileSync(join(root, path), "utf8"),
		);
		const folder = dirname(path);
		return Object.entries<Record<string, string>>(exports).flatMap(
			([entry, { "snakepit-source": source }]) =>
				source === undefined
					? []
					: { folder, name, address: join(name, entry), source },
		);
	});
}

/** A project of sources, as the compiler reads it. */
export class TypeScriptProject implements Disposable {
	readonly #api = new API();
	readonly #project: Project;

	/** @param config the path of a `tsconfig.json`; by default a project of the sources of all packages. */
	constructor(config: string = allPackages()) {
		const project = this.#api
			.updateSnapshot({ openProjects: [config] })
			.getProject(config);
		if (project === undefined) throw new Error(`${config} cannot be opened.`);
		this.#project = project;
	}

	get checker(): Checker {
		return this.#project.checker;
	}

	/** What a file exports: each name and the symbol that it stands for. */
	exportsOf(path: string): ReadonlyMap<string, TypeScriptSymbol> {
		const file = this.#project.program.getSourceFile(path);
		const module = file && this.checker.getSymbolAtLocation(file);
		if (module === undefined) throw new Error(`${path} exports nothing.`);
		return new Map(
			this.checker
				.getExportsOfModule(module)
				.map((symbol) => [symbol.name, this.original(symbol)]),
		);
	}

	/** The symbol that an imported or exported name stands for. */
	original(symbol: TypeScriptSymbol): TypeScriptSymbol {
		return symbol.declarations.some(({ kind }) => ALIASES.has(kind))
			? this.checker.getAliasedSymbol(symbol)
			: symbol;
	}

	/** The members that an interface declares itself, in their order, each with what its comment has. */
	membersOf(symbol: TypeScriptSymbol): readonly Member[] {
		return this.declarationsOf(symbol)
			.filter(isInterfaceDeclaration)
			.flatMap(({ members }) => members)
			.map((node) => {
				const property = node as PropertySignatureDeclaration;
				const member = this.checker.getSymbolAtLocation(property.name);
				if (member === undefined)
					throw new Error(`No member is declared by ${node.getText()}.`);
				const type = typeOf(property);
				return { name: member.name, type, ...this.#comment(member) };
			});
	}

	/** The fields of each alternative of a union, by their names, each with its type as the compiler writes it. */
	alternativesOf(union: TypeScriptSymbol): readonly Fields[] {
		const { checker } = this;
		const type = checker.getDeclaredTypeOfSymbol(union);
		if (!type.isUnionType()) throw new Error(`${union.name} is no union.`);
		return type.getTypes().map(
			(alternative): Fields =>
				new Map(
					checker.getPropertiesOfType(alternative).map((symbol) => {
						const of = checker.getTypeOfSymbol(symbol);
						const text = of === undefined ? "" : checker.typeToString(of);
						return [symbol.name, { symbol, text }];
					}),
				),
		);
	}

	/** @throws Error when it has no comment. */
	commentOf(symbol: TypeScriptSymbol): Comment {
		const comment = this.#comment(symbol);
		if (comment.meaning !== "") return comment;
		throw new Error(`${symbol.name} has no comment.`);
	}

	#comment(symbol: TypeScriptSymbol): Comment {
		const meaning = line(this.checker.getDocumentationCommentOfSymbol(symbol));
		const tags = this.checker
			.getJsDocTagsOfSymbol(symbol)
			.map(({ name, text }) => [name, line(text ?? "")]);
		return { meaning, tags: Object.fromEntries(tags) };
	}

	declarationsOf(symbol: TypeScriptSymbol): readonly Node[] {
		return symbol.declarations.flatMap(
			(declaration) => declaration.resolve(this.#project) ?? [],
		);
	}

	[Symbol.dispose](): void {
		this.#api.close();
	}
}
