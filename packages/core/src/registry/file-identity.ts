import { type BigIntStats, fstatSync, lstatSync } from "node:fs";

/** What makes a file this one and no other that has its path later. */
export type FileIdentity = Pick<BigIntStats, "dev" | "ino">;

/** What became of a file that this process has open. */
export type FileFate = "there" | "removed" | "replaced";

export function identityOfOpen(descriptor: number): FileIdentity {
	return fstatSync(descriptor, { bigint: true });
}

/** The file that has a path now. Throws the error of the system when there is none. */
export function identityOf(path: string): FileIdentity {
	return lstatSync(path, { bigint: true });
}

/** The file that has a path now; `undefined` when there is none. */
export function identityAt(path: string): FileIdentity | undefined {
	try {
		return lstatSync(path, { bigint: true, throwIfNoEntry: false });
	} catch (error) {
		// A file has the name of a directory above it.
		if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
		throw error;
	}
}

export function fateOf(path: string, made: FileIdentity): FileFate {
	const identity = identityAt(path);
	if (identity === undefined) return "removed";
	return identity.ino === made.ino && identity.dev === made.dev
		? "there"
		: "replaced";
}
