import { existsSync, readFileSync } from "node:fs";
// Not `createRequire` by name: webpack would resolve what it is given when it builds.
import nodeModule from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "./gen/version.ts";

const NAME = "@snakepit/watchdog";

/** Where this code and its program are. */
export interface RunningPlace {
	/** The URL of this module; `undefined` in a bundle that is CommonJS. */
	readonly module: string | undefined;
	/** The path of the program; `undefined` if Node has none, as with `--eval`. */
	readonly program: string | undefined;
}

/** Why a protection cannot work here, and what would help. */
export class ProtectionUnavailable extends Error {
	override readonly name = "ProtectionUnavailable";
	readonly reason: string;
	readonly remedy: string;

	constructor(reason: string, remedy: string) {
		super(`${reason} ${remedy}`);
		this.reason = reason;
		this.remedy = remedy;
	}
}

/**
 * Finds a file of this package that is started as a program. A bundle does not contain
 * it: there it is taken from the package of exactly this version that is installed where
 * the bundle or the program runs.
 *
 * @param file its path in the package.
 * @throws ProtectionUnavailable when it is not found.
 */
export function ownFile(
	file: string,
	place: RunningPlace = {
		module: import.meta.url,
		program: process.argv[1],
	},
): string {
	const found = packageRoots(place)
		.map((root) => join(root, file))
		.find((path) => existsSync(path));
	if (found !== undefined) return found;
	const { program, module } = place;
	const where = new Set([fileOf(module) ?? program, program].filter(Boolean));
	throw new ProtectionUnavailable(
		`This program needs the file ${file} of the package ${NAME} ${VERSION}. A bundle does not contain it, and the package was not found from ${[...where].join(" nor from ") || "here"}.`,
		`Run npm install ${NAME}@${VERSION} where the program runs. A tool that copies only traced files, such as Next.js with "standalone", must be configured to copy this package and its dependencies.`,
	);
}

/** The directories of this package, in exactly this version. */
function packageRoots({ module, program }: RunningPlace): readonly string[] {
	const own = fileOf(module);
	const installed = [own, program].flatMap((from) =>
		from === undefined ? [] : installedFrom(from),
	);
	// This module is in `src` or `dist` of the package.
	const around = own === undefined ? [] : [join(dirname(own), "..")];
	return [...around, ...installed].filter(isThisPackage);
}

function fileOf(module: string | undefined): string | undefined {
	return module?.startsWith("file:") ? fileURLToPath(module) : undefined;
}

function installedFrom(file: string): readonly string[] {
	try {
		return [
			dirname(nodeModule.createRequire(file).resolve(`${NAME}/package.json`)),
		];
	} catch {
		return []; // Not installed there.
	}
}

function isThisPackage(root: string): boolean {
	try {
		const text = readFileSync(join(root, "package.json"), "utf8");
		const { name, version } = JSON.parse(text);
		return name === NAME && version === VERSION;
	} catch {
		return false;
	}
}
