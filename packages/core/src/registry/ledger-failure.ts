import { closeSync, openSync } from "node:fs";
import type { RegistryErrorCode } from "../contract/error-codes.ts";
import { RegistryError } from "../contract/errors.ts";
import { messageOf } from "../contract/thrown.ts";
import {
	DESCRIPTORS_REMEDY,
	outOfDescriptors,
	unwritableRemedy,
} from "../os/spawn-failure.ts";

/** What happened and what to do, for each way in which a ledger fails. */
const FAILURES: Readonly<
	Record<RegistryErrorCode, readonly [what: string, remedy: string]>
> = {
	REGISTRY_UNWRITABLE: [
		"cannot be written",
		"Name another directory with the option dataDir.",
	],
	REGISTRY_FULL: [
		"cannot be written: no space is left",
		"Free some space there, or name a directory on another disk with the option dataDir.",
	],
	REGISTRY_OUT_OF_DESCRIPTORS: [
		"cannot be opened: no more files can be opened",
		`${DESCRIPTORS_REMEDY} Another dataDir does not help.`,
	],
	REGISTRY_LOCKED: [
		"is locked by another program",
		"End the program that holds the file, or name a directory on a local disk with the option dataDir: network file systems often cannot lock.",
	],
	REGISTRY_CORRUPT: [
		"is damaged",
		"Move the file away, or name another directory with the option dataDir.",
	],
	REGISTRY_UNSUPPORTED: [
		"cannot be used",
		"Update Snakepit and its dependencies.",
	],
};

const CODES: readonly (readonly [RegExp, RegistryErrorCode])[] = [
	[/^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)$/, "REGISTRY_FULL"],
	[/^(EMFILE|ENFILE)$/, "REGISTRY_OUT_OF_DESCRIPTORS"],
	[/^(SQLITE_BUSY|SQLITE_LOCKED|SQLITE_PROTOCOL)/, "REGISTRY_LOCKED"],
	[/^SQLITE_IOERR_\w*LOCK$/, "REGISTRY_LOCKED"],
	// A plain SQLITE_ERROR is a table or column that is not there.
	[/^SQLITE_(CORRUPT|NOTADB|FORMAT|ERROR$)/, "REGISTRY_CORRUPT"],
];

/**
 * Translates what the file system or SQLite threw, once, at the boundary.
 *
 * @param lacksDescriptors asked where SQLite could not open a file and does not report why.
 */
export function ledgerFailure(
	error: unknown,
	path: string,
	lacksDescriptors: () => boolean = isOutOfDescriptors,
): RegistryError {
	if (error instanceof RegistryError) return error;
	const systemCode = systemCodeOf(error);
	const code = codeOf(systemCode, lacksDescriptors);
	const [what, remedy] = FAILURES[code];
	const hint = code === "REGISTRY_UNWRITABLE" ? hintOf(systemCode) : "";
	return new RegistryError({
		code,
		message: `The ledger of processes ${path} ${what} (${systemCode}: ${messageOf(error)}). ${hint}${hint && " "}${remedy}`,
		cause: error,
	});
}

/** What to do about the place itself; empty when the code does not tell. */
function hintOf(systemCode: string): string {
	return /^SQLITE_(READONLY|PERM)/.test(systemCode)
		? "The file, its directory or its file system is read-only for this user: change that."
		: unwritableRemedy(systemCode);
}

function codeOf(
	systemCode: string,
	lacksDescriptors: () => boolean,
): RegistryErrorCode {
	// SQLite keeps the system's reason to itself.
	if (systemCode.startsWith("SQLITE_CANTOPEN") && lacksDescriptors())
		return "REGISTRY_OUT_OF_DESCRIPTORS";
	const entry = CODES.find(([pattern]) => pattern.test(systemCode));
	return entry?.[1] ?? "REGISTRY_UNWRITABLE";
}

/** The `code` of an error or of what caused it; Drizzle wraps. */
export function systemCodeOf(error: unknown): string {
	for (let each = error; each instanceof Error; each = each.cause) {
		const { code } = each as NodeJS.ErrnoException;
		if (typeof code === "string") return code;
	}
	return "unknown";
}

/** Whether nothing more can be opened now: SQLite does not report why it could not. */
function isOutOfDescriptors(): boolean {
	try {
		closeSync(openSync("/dev/null", "r"));
		return false;
	} catch (error) {
		return outOfDescriptors(error);
	}
}
