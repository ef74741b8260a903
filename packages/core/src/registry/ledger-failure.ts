import { RegistryError, type RegistryErrorCode } from "../errors.ts";

/** Says what to do, for each way in which a ledger fails. */
const REMEDIES: Readonly<Record<RegistryErrorCode, string>> = {
	REGISTRY_UNWRITABLE:
		"Make the directory writable for this user, or name another one with the option dataDir.",
	REGISTRY_FULL:
		"Free some space there, or name a directory on another disk with the option dataDir.",
	REGISTRY_LOCKED:
		"End the program that holds the file, or name a directory on a local disk with the option dataDir: network file systems often cannot lock.",
	REGISTRY_CORRUPT:
		"Move the file away, or name another directory with the option dataDir.",
	REGISTRY_UNSUPPORTED: "Update Snakepit and its dependencies.",
};

const CODES: readonly (readonly [RegExp, RegistryErrorCode])[] = [
	[/^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_IOERR_SHMSIZE)$/, "REGISTRY_FULL"],
	[/^(SQLITE_BUSY|SQLITE_LOCKED|SQLITE_PROTOCOL)/, "REGISTRY_LOCKED"],
	[/^SQLITE_IOERR_\w*LOCK$/, "REGISTRY_LOCKED"],
	// A plain SQLITE_ERROR is a table or column that is not there.
	[/^SQLITE_(CORRUPT|NOTADB|FORMAT|ERROR$)/, "REGISTRY_CORRUPT"],
];

/** Translates what the file system or SQLite threw, once, at the boundary. */
export function ledgerFailure(error: unknown, path: string): RegistryError {
	if (error instanceof RegistryError) return error;
	const systemCode = systemCodeOf(error);
	const code =
		CODES.find(([pattern]) => pattern.test(systemCode))?.[1] ??
		"REGISTRY_UNWRITABLE";
	return new RegistryError({
		code,
		ran: "no",
		message: `The ledger of processes ${path} ${VERBS[code]} (${systemCode}: ${messageOf(error)}). ${REMEDIES[code]}`,
		cause: error,
	});
}

const VERBS: Readonly<Record<RegistryErrorCode, string>> = {
	REGISTRY_UNWRITABLE: "cannot be written",
	REGISTRY_FULL: "cannot be written: no space is left",
	REGISTRY_LOCKED: "is locked by another program",
	REGISTRY_CORRUPT: "is damaged",
	REGISTRY_UNSUPPORTED: "cannot be used",
};

/** The `code` of an error or of what caused it; Drizzle wraps. */
export function systemCodeOf(error: unknown): string {
	for (let each = error; each instanceof Error; each = each.cause) {
		const { code } = each as NodeJS.ErrnoException;
		if (typeof code === "string") return code;
	}
	return "unknown";
}

function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}
