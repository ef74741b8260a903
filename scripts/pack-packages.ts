import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { must, root } from "./run.ts";

/** A package as it would be published. */
export interface Packed {
	readonly name: string;
	/** What of it can be imported; nothing of a package that holds only a binary. */
	readonly entries: readonly string[];
	readonly tarball: string;
}

/** Builds every package and packs it into a directory. */
export function packPackages(into: string): readonly Packed[] {
	must("pnpm", ["build"]);
	return globSync("packages/*/package.json", { cwd: root }).map((manifest) =>
		pack(manifest, into),
	);
}

/** Packages of one binary each, which only core asks for. */
export function isNative({ name }: Packed): boolean {
	return name.startsWith("@snakepit/native-");
}

/** The `overrides` with which npm installs, as from a registry, the native package that fits this machine. */
export function nativeOverrides(
	packed: readonly Packed[],
): Readonly<Record<string, string>> {
	return Object.fromEntries(
		packed
			.filter(isNative)
			.map(({ name, tarball }) => [name, `file:${tarball}`]),
	);
}

function pack(manifest: string, into: string): Packed {
	const file = join(root, manifest);
	const { name, publishConfig } = JSON.parse(readFileSync(file, "utf8"));
	const tarball = join(into, `${name.replace("/", "-")}.tgz`);
	must("pnpm", ["pack", "--silent", "--out", tarball], { cwd: dirname(file) });
	const entries = Object.keys(publishConfig.exports ?? {})
		.filter((path) => !/\.(json|yml)$/.test(path))
		.map((path) => join(name, path));
	return { name, entries, tarball };
}
