import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { InterpreterFacts } from "../interpreter/interpreter.ts";
import { fittingBridge } from "../worker/same-release.ts";

/** Changes when environments are made in another way than before. */
const FORMAT = 1;

/** What a requirement is for pip. */
export type Requirement =
	/** As pip reads it. */
	| { readonly kind: "named"; readonly text: string }
	/** A directory with a project: installed editable, so that its code is always the present one. */
	| {
			readonly kind: "directory";
			readonly path: string;
			/** `[grpc]` of `../python[grpc]`, or empty. */
			readonly extras: string;
			readonly metadata: string;
	  };

const METADATA_FILES = ["pyproject.toml", "setup.cfg", "setup.py"] as const;

/** What comes before the extras, and these. */
const EXTRAS = /^(.*?)(\[[^[\]]*\])$/;

/** Tells directories from requirements that pip looks up. */
export function readRequirement(text: string): Requirement {
	const [, directory = text, extras = ""] = EXTRAS.exec(text) ?? [];
	if (!isDirectory(directory))
		return { kind: "named", text: releaseRequirement(text) };
	// What decides over its dependencies; its code does not change the environment.
	const metadata = METADATA_FILES.map((file) =>
		textOf(join(directory, file)),
	).join("\0");
	return { kind: "directory", path: resolve(directory), extras, metadata };
}

/** Names an environment by all that is in it: 16 hexadecimal digits. */
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
 * What is installed for a requirement: for the bridge without a version the one that belongs to this package, so that an
 * update of this package makes another environment. Any other is left as it is.
 */
function releaseRequirement(text: string): string {
	const found = BARE.exec(text);
	if (found === null) return text;
	const [name = "", version = ""] = fittingBridge().split("==");
	return `${name}${found[1] ?? ""}==${version}`;
}
