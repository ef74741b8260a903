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

/** A project of sources, as the compiler reads it. */
export class TypeScriptProject implements Disposable {
	readonly #api = new API();
	readonly #project: Project;

	/** @param config the path of a `tsconfig.json`. */
	constructor(config: string) {
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
			.flatMap(({ members }) => members.map((each) => this.#member(each)));
	}

	#member(node: Node): Member {
		const symbol = this.checker.getSymbolAtLocation(
			(node as PropertySignatureDeclaration).name,
		);
		if (symbol === undefined)
			throw new Error(`No member is declared by ${node.getText()}.`);
		return {
			name: symbol.name,
			type: (node as PropertySignatureDeclaration).type.getText(),
			...this.commentOf(symbol),
		};
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
		const meaning = line(this.checker.getDocumentationCommentOfSymbol(symbol));
		if (meaning === "") throw new Error(`${symbol.name} has no comment.`);
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
