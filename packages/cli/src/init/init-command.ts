import { type Command, Option } from "commander";
import { write } from "../command/output.ts";
import { VERSION } from "../gen/version.ts";
import { TEMPLATES, type TemplateName } from "./templates.ts";

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
