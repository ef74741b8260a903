import { accessSync, constants } from "node:fs";
// Not `createRequire` by name: webpack would resolve what it is given when it builds.
import nodeModule from "node:module";
import { packagePlaces } from "./this-program.ts";

const PACKAGES: Readonly<Record<string, string>> = {
	"linux-arm64": "@snakepit/native-linux-arm64",
	"linux-x64": "@snakepit/native-linux-x64",
};

/** For what system, and from where. */
export interface NativePlace {
	readonly platform: string;
	readonly architecture: string;
	/** Files and URLs of modules whose `node_modules` are searched, in this order. */
	readonly from: readonly string[];
}

/**
 * The path of the native binary; `undefined` where there is none: on another system, in an install without optional
 * packages, beside a bundle without them, or on a file system from which nothing may be executed.
 */
export function nativeBinary({
	platform = process.platform,
	architecture = process.arch,
	from = packagePlaces(import.meta.url),
}: Partial<NativePlace> = {}): string | undefined {
	const name = PACKAGES[`${platform}-${architecture}`];
	if (name === undefined) return undefined;
	for (const module of from) {
		try {
			const path = nodeModule
				.createRequire(module)
				.resolve(`${name}/bin/snakepit-native`);
			if (isExecutable(path)) return path;
		} catch {
			// Not installed there: the next place may have it.
		}
	}
	return undefined;
}

/** Looks for it once, which takes a millisecond, and from then on whether it is still there. */
export function rememberedBinary(): () => string | undefined {
	let found: { readonly path: string | undefined } | undefined;
	return () => {
		found ??= { path: nativeBinary() };
		const { path } = found;
		return path !== undefined && isExecutable(path) ? path : undefined;
	};
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}
