import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { InterpreterFacts } from "../interpreter/interpreter.ts";
import { fittingBridge } from "../worker/same-release.ts";

/** Changes when environments are created in a new way. */
const FORMAT = 1;

/** The kind of a requirement for pip. */
export type Requirement =
	/** As pip reads it. */
	| { readonly kind: "named"; readonly text: string }
	/** A directory with a project: installed editable, so that its current code is used. */
	| {
			readonly kind: "directory";
			readonly path: string;
			/** `[grpc]` of `../python[grpc]`, or empty. */
			readonly extras: string;
			readonly metadata: string;
	  };

const METADATA_FILES = ["pyproject.toml", "setup.cfg", "setup.py"] as const;

/** The part before the extras, and the extras. */
const EXTRAS = /^(.*?)(\[[^[\]]*\])$/;

/** Tells directories from requirements that pip looks up. */
export function readRequirement(text: string): Requirement {
	const [, directory = text, extras = ""] = EXTRAS.exec(text) ?? [];
	if (!isDirectory(directory))
		return { kind: "named", text: releaseRequirement(text) };
	// The files that determine its dependencies; its code does not change the environment.
	const metadata = METADATA_FILES.map((file) =>
		textOf(join(directory, file)),
	).join("\0");
	return { kind: "directory", path: resolve(directory), extras, metadata };
}

/** Names an environment by its content: 16 hexadecimal digits. */
export function environmentKey(
	requirements: readonly Requirement[],
	interpreter: Pick<InterpreterFacts, "executable" | "version">,
): string {
	const texts = requirements
		.map((requirement) => JSON.stringify(requirement))
		.sort();
	const { executable, version } = interpreter;
	return createHash("sha256")
		.update(
			JSON.stringify([
				FORMAT,
				texts,
				executable,
				version,
				process.platform,
				process.arch,
			]),
		)
		.digest("hex")
		.slice(0, 16);
}

/** The arguments of `pip install`. */
export function installArguments(
	requirements: readonly Requirement[],
): readonly string[] {
	return requirements.flatMap((requirement) =>
		requirement.kind === "named"
			? [requirement.text]
			: ["--editable", `${requirement.path}${requirement.extras}`],
	);
}

function isDirectory(path: string): boolean {
	return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function textOf(path: string): string {
	try {
		return readFileSync(path, "utf8");
	} catch {
		return "";
	}
}

/** The bridge by its name alone, perhaps with extras. Source: PyPA's dependency specifiers. */
const BARE = /^\s*snakepit[-_.]+bridge\s*(\[[^\]]*\])?\s*$/i;

/**
 * What to install for a requirement. The bridge without a version becomes the version that belongs to this package, so
 * an update of this package creates a new environment. Other requirements do not change.
 */
function releaseRequirement(text: string): string {
	const found = BARE.exec(text);
	if (found === null) return text;
	const [name = "", version = ""] = fittingBridge().split("==");
	return `${name}${found[1] ?? ""}==${version}`;
}
