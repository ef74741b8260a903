import { existsSync, readFileSync } from "node:fs";
// Not `createRequire` by name: webpack would resolve what it is given when it builds.
import nodeModule from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
	type Execution,
	ownExecutable,
	packagePlaces,
	thisExecution,
} from "@snakepit/core/infrastructure";
import { VERSION } from "./gen/version.ts";

const NAME = "@snakepit/watchdog";

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
	/** The URL of this module; `undefined` in a bundle that is CommonJS. */
	module: string | undefined = import.meta.url,
	execution: Execution = thisExecution(),
): string {
	const places = packagePlaces(module, execution);
	const found = packageRoots(module, places)
		.map((root) => join(root, file))
		.find((path) => existsSync(path));
	if (found !== undefined) return found;
	const own = ownExecutable(execution);
	const beside =
		own === undefined
			? "where the program runs"
			: `in ${dirname(own)}, beside the executable that contains the program`;
	const from = new Set(places.map((place) => fileOf(place) ?? place));
	throw new ProtectionUnavailable(
		`This program needs the file ${file} of the package ${NAME} ${VERSION}. A bundle does not contain it, and the package was not found from ${[...from].join(" nor from ") || "here"}.`,
		`Run npm install ${NAME}@${VERSION} ${beside}. A tool that copies only traced files, such as Next.js with "standalone", must be configured to copy this package and its dependencies.`,
	);
}

/** The directories of this package, in exactly this version. */
function packageRoots(
	module: string | undefined,
	places: readonly string[],
): readonly string[] {
	const own = fileOf(module);
	// This module is in `src` or `dist` of the package.
	const around = own === undefined ? [] : [join(dirname(own), "..")];
	return [...around, ...places.flatMap(installedFrom)].filter(isThisPackage);
}

function fileOf(module: string | undefined): string | undefined {
	return module?.startsWith("file:") ? fileURLToPath(module) : undefined;
}

function installedFrom(place: string): readonly string[] {
	try {
		const { resolve } = nodeModule.createRequire(place);
		return [dirname(resolve(`${NAME}/package.json`))];
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
