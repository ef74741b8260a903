import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { absolutePath } from "@snakepit/core/adapter";
import { CommandFailed } from "../command/failures.ts";
import { packageDirectory } from "../command/packages.ts";
import { VERSION } from "../gen/version.ts";
import { TEMPLATES, type TemplateName, TYPE_CHECK } from "./init-command.ts";

/** A folder that contains only these counts as empty. */
const IGNORED: readonly string[] = [".git", ".DS_Store"];

/**
 * Writes a new project into an empty folder, which it creates if necessary.
 *
 * @returns the names of its files.
 * @throws CommandFailed if the folder has other content; nothing is written then.
 */
export function writeProject(
	folder: string,
	template: TemplateName,
): readonly string[] {
	const path = absolutePath(folder, "The folder");
	mkdirSync(folder, { recursive: true });
	const content = readdirSync(folder).filter((name) => !IGNORED.includes(name));
	if (content.length > 0)
		throw new CommandFailed(
			"failed",
			`${folder} is not empty (${content.slice(0, 5).join(", ")}${content.length > 5 ? ", …" : ""}). Nothing was written. Name a new folder: snakepit init my-project`,
		);
	const files = projectFiles(path, template);
	for (const [name, text] of files)
		writeFileSync(join(folder, name), text, { flag: "wx" });
	return files.map(([name]) => name);
}

function projectFiles(
	folder: string,
	template: TemplateName,
): readonly (readonly [name: string, text: string])[] {
	const templates = packageDirectory("templates");
	const read = (name: string): string =>
		readFileSync(join(templates, name), "utf8");
	const name = packageName(folder);
	const readme = read(`${template}.md`)
		.replaceAll("NAME", name)
		.replaceAll("FOLDER", folder);
	return [
		["package.json", `${JSON.stringify(manifest(name, template), null, 2)}\n`],
		["tsconfig.json", `${JSON.stringify(TSCONFIG, null, 2)}\n`],
		["main.ts", read(`${template}.ts`)],
		["tools.py", read("tools.py")],
		["tools.ts", read("tools.ts")],
		["README.md", readme],
		[".gitignore", "node_modules/\n.venv/\n__pycache__/\n"],
	];
}

/** For the editor, and for `tsc`, which only checks: Node removes the types by itself. */
const TSCONFIG = {
	compilerOptions: {
		target: "es2024",
		module: "nodenext",
		types: ["node"],
		strict: true,
		noUncheckedIndexedAccess: true,
		erasableSyntaxOnly: true,
		verbatimModuleSyntax: true,
		allowImportingTsExtensions: true,
		noEmit: true,
		skipLibCheck: true,
	},
};

function manifest(name: string, template: TemplateName): object {
	const ours = (...names: readonly string[]): Record<string, string> =>
		Object.fromEntries(
			names.map((each) => [`@snakepit/${each}`, `^${VERSION}`]),
		);
	return {
		name,
		private: true,
		type: "module",
		// This Node runs TypeScript without a build.
		engines: { node: ">=22.18" },
		scripts: {
			start: "node main.ts",
			check: "tsc",
			types: "snakepit types tools.py --output tools.ts",
		},
		dependencies: {
			...ours("adapter-python", "core"),
			...(template === "mcp" ? ours("adapter-mcp") : {}),
			...TEMPLATES[template].dependencies,
		},
		devDependencies: {
			...ours("cli"),
			...TEMPLATES[template].devDependencies,
			...TYPE_CHECK,
		},
	};
}

/** The name of the folder, without characters that npm does not allow. */
function packageName(folder: string): string {
	const name = basename(folder)
		.toLowerCase()
		.replace(/[^a-z0-9._-]+/g, "-")
		.replace(/^[._-]+|[._-]+$/g, "");
	return name === "" ? "my-project" : name;
}
