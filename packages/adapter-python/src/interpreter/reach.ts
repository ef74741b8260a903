import { accessSync, constants, lstatSync, readlinkSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, resolve, sep } from "node:path";

/** Where a path leads for the user of this program. */
export type Reach =
	| { readonly kind: "reached"; readonly path: string }
	/** It does not exist: `at` is the first part of `path` that does not exist. */
	| { readonly kind: "missing"; readonly path: string; readonly at: string }
	/** This user may not enter the directory `at`, or may not use the file `at` as wanted. */
	| { readonly kind: "forbidden"; readonly at: string };

/** As many links as Linux follows. */
const MAX_LINKS = 40;

/**
 * Follows a path link by link, because the system only reports that some part of the path is not accessible.
 *
 * @param wanted the access that is needed at its end: `constants.R_OK`, `constants.X_OK`.
 */
export function reach(path: string, wanted: number = constants.R_OK): Reach {
	let at: string = sep;
	let links = 0;
	const rest = partsOf(resolve(path));
	for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
		const next = resolve(at, part);
		let isLink: boolean;
		try {
			isLink = lstatSync(next).isSymbolicLink();
		} catch (error) {
			return isRefusal(error)
				? { kind: "forbidden", at }
				: { kind: "missing", path, at: next };
		}
		if (!isLink) at = next;
		else {
			if (++links > MAX_LINKS) return { kind: "missing", path, at: next };
			rest.unshift(...partsOf(resolve(dirname(next), readlinkSync(next))));
			at = sep;
		}
	}
	try {
		accessSync(at, wanted);
		return { kind: "reached", path: at };
	} catch (error) {
		return { kind: isRefusal(error) ? "forbidden" : "missing", path, at };
	}
}

/** Says in a few words why a path cannot be used; empty if it can. */
export function reachProblem(found: Reach): string {
	switch (found.kind) {
		case "reached":
			return "";
		case "missing":
			return found.at === found.path
				? `there is no ${found.path}`
				: `there is no ${found.path} (${found.at} does not exist)`;
		case "forbidden":
			return `${currentUser()} has no access to ${found.at}`;
	}
}

/** This program's user, for messages: `user nobody (uid 65534)`. */
export function currentUser(): string {
	try {
		const { username, uid } = userInfo();
		return `user ${username} (uid ${uid})`;
	} catch {
		// In a container a user often has no entry in the list of users.
		return `the user with uid ${process.getuid?.()}`;
	}
}

function partsOf(path: string): string[] {
	return path.split(sep).filter((part) => part !== "");
}

function isRefusal(error: unknown): boolean {
	const { code } = error as NodeJS.ErrnoException;
	return code === "EACCES" || code === "EPERM";
}
