import { type Command, Option } from "commander";
import { write } from "../command/output.ts";
import { VERSION } from "../gen/version.ts";

export type TemplateName = "plain" | "express" | "mcp";

interface Packages {
	readonly dependencies: Readonly<Record<string, string>>;
	readonly devDependencies: Readonly<Record<string, string>>;
}

/** The kinds of new projects, and the third-party packages that each needs. */
export const TEMPLATES: Readonly<Record<TemplateName, Packages>> = {
	plain: { dependencies: {}, devDependencies: {} },
	express: {
		dependencies: { express: "^5.3.0" },
		devDependencies: { "@types/express": "^5.0.6" },
	},
	mcp: {
		dependencies: { "@modelcontextprotocol/sdk": "^1.32.2" },
		devDependencies: {},
	},
};

/** What checks the types of every project. */
export const TYPE_CHECK: Readonly<Record<string, string>> = {
	"@types/node": "^22.0.0",
	typescript: "^7.0.2",
};

interface Flags {
	readonly template: TemplateName;
}

/** Adds `snakepit init`. */
export function addInit(program: Command): void {
	program
		.command("init")
		.argument("[folder]", "the folder; it is created, or must be empty", ".")
		.addOption(
			new Option("--template <name>", "the kind of project")
				.choices(Object.keys(TEMPLATES))
				.default("plain"),
		)
		.description("create a project that calls Python from TypeScript")
		.action(async (folder: string, { template }: Flags) => {
			const { writeProject } = await import("./project.ts");
			const files = writeProject(folder, template);
			write(`Wrote ${files.join(", ")}. Next:
${folder === "." ? "" : `  cd ${folder}\n`}  npm install
  python3 -m venv .venv
  .venv/bin/pip install snakepit-bridge
  npm start`);
			if (VERSION === "0.0.0")
				write(
					'This build of Snakepit was not published: install the packages and the bridge as CONTRIBUTING.md of the clone says ("Install from a clone").',
				);
		});
}
