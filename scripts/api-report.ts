// Writes packages/*/api.md: what each entry of a package exports, and every declaration that is reached from there.
// A change of what users see is a change of these files: a review shows it, and `check` demands it.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { type Node, SyntaxKind } from "typescript/unstable/ast";
import { must, root } from "./run.ts";
import {
	type PackageEntry,
	packageEntries,
	TypeScriptProject,
	type TypeScriptSymbol,
	writeConfig,
} from "./typescript-project.ts";

const directory = join(root, "node_modules/.cache/api-report");
const emitted = join(directory, "emitted");
rmSync(directory, { recursive: true, force: true });
mkdirSync(emitted, { recursive: true });

// Declarations as a user gets them: without bodies, private members and, here, comments.
const emit = writeConfig(
	directory,
	{
		rootDir: root,
		outDir: emitted,
		emitDeclarationOnly: true,
		removeComments: true,
		declarationMap: false,
		sourceMap: false,
		customConditions: ["snakepit-source"],
	},
	join(root, "packages/*/src"),
);
must("tsc", ["-p", emit]);

using project = new TypeScriptProject(
	writeConfig(emitted, { noEmit: true }, join(emitted, "packages")),
);
const packages = Map.groupBy(packageEntries(), ({ folder }) => folder);
for (const [folder, entries] of packages)
	writeFileSync(join(root, folder, "api.md"), reportOf(folder, entries));

function reportOf(folder: string, entries: readonly PackageEntry[]): string {
	const reached = new Map<Node, string>();
	const sections = entries.map(({ address, source }) => {
		const exported = project.exportsOf(
			join(emitted, folder, source.replace(/\.ts$/, ".d.ts")),
		);
		for (const symbol of exported.values())
			reach(symbol, join(emitted, folder), reached);
		const names = [...exported.keys()].sort();
		return `## ${address}\n\n${names.map((each) => `- \`${each}\``).join("\n")}`;
	});
	return `${[
		`# What ${entries[0]?.name} exports`,
		"<!-- Made by `npx pnpm@12 generate` from the sources. -->",
		...sections,
		"## Declarations",
		"All that is exported, and what it is made of.",
		`\`\`\`ts\n${[...reached.values()].sort().join("\n")}\n\`\`\``,
	].join("\n\n")}\n`;
}

/** Collects where a symbol is declared in a folder, and all that is named there. */
function reach(
	symbol: TypeScriptSymbol,
	folder: string,
	reached: Map<Node, string>,
): void {
	for (const node of project.declarationsOf(symbol)) {
		const declaration = statementOf(node);
		if (
			declaration === undefined ||
			reached.has(declaration) ||
			relative(folder, declaration.getSourceFile().fileName).startsWith("..")
		)
			continue;
		reached.set(declaration, textOf(declaration));
		const named = project.checker.getSymbolAtLocation(
			identifiersIn(declaration),
		);
		for (const each of named)
			if (each !== undefined) reach(project.original(each), folder, reached);
	}
}

/** The statement of a file that declares it; of what is declared within one, nothing: it is part of that. */
function statementOf(node: Node): Node | undefined {
	const statement =
		node.kind === SyntaxKind.VariableDeclaration ? node.parent.parent : node;
	return statement.parent?.kind === SyntaxKind.SourceFile
		? statement
		: undefined;
}

function identifiersIn(node: Node): Node[] {
	const found = node.kind === SyntaxKind.Identifier ? [node] : [];
	node.forEachChild((child) => void found.push(...identifiersIn(child)));
	return found;
}

/** Private members say nothing to a user. */
function textOf(declaration: Node): string {
	return declaration
		.getText()
		.replace(/^export (declare )?/, "")
		.replaceAll(/^\s*(private |#private).*;\n/gm, "");
}
