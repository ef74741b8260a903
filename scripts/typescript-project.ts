import { type Node, SyntaxKind } from "typescript/unstable/ast";
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

	declarationsOf(symbol: TypeScriptSymbol): readonly Node[] {
		return symbol.declarations.flatMap(
			(declaration) => declaration.resolve(this.#project) ?? [],
		);
	}

	[Symbol.dispose](): void {
		this.#api.close();
	}
}
