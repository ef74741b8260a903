import { expect, test } from "vitest";
import { RegistryError } from "../../src/contract/errors.ts";
import {
	ledgerFailure,
	systemCodeOf,
} from "../../src/registry/ledger-failure.ts";

function failing(code: string): Error {
	return Object.assign(new Error("said the system"), { code });
}

test.each([
	["EACCES", "REGISTRY_UNWRITABLE"],
	["EROFS", "REGISTRY_UNWRITABLE"],
	["SQLITE_READONLY_DIRECTORY", "REGISTRY_UNWRITABLE"],
	["SQLITE_CANTOPEN", "REGISTRY_UNWRITABLE"],
	["SQLITE_IOERR_WRITE", "REGISTRY_UNWRITABLE"],
	["EMFILE", "REGISTRY_OUT_OF_DESCRIPTORS"],
	["ENFILE", "REGISTRY_OUT_OF_DESCRIPTORS"],
	["ENOSPC", "REGISTRY_FULL"],
	["EDQUOT", "REGISTRY_FULL"],
	["SQLITE_FULL", "REGISTRY_FULL"],
	["SQLITE_IOERR_SHMSIZE", "REGISTRY_FULL"],
	["SQLITE_BUSY", "REGISTRY_LOCKED"],
	["SQLITE_BUSY_RECOVERY", "REGISTRY_LOCKED"],
	["SQLITE_PROTOCOL", "REGISTRY_LOCKED"],
	["SQLITE_IOERR_LOCK", "REGISTRY_LOCKED"],
	["SQLITE_IOERR_SHMLOCK", "REGISTRY_LOCKED"],
	["SQLITE_IOERR_BEGIN_ATOMIC", "REGISTRY_UNWRITABLE"],
	["SQLITE_CORRUPT_VTAB", "REGISTRY_CORRUPT"],
	["SQLITE_NOTADB", "REGISTRY_CORRUPT"],
	["SQLITE_ERROR", "REGISTRY_CORRUPT"],
])("%s is %s, with the path and a remedy", (systemCode, code) => {
	const error = ledgerFailure(failing(systemCode), "/the/ledger");
	expect(error).toBeInstanceOf(RegistryError);
	expect(error).toMatchObject({ code, ran: "no" });
	expect(error.message).toContain("/the/ledger");
	expect(error.message).toContain(systemCode);
	expect(error.message).toMatch(/dataDir/);
});

test.each([
	["EMFILE", /ulimit -n/],
	["ENFILE", /ulimit -n/],
	["ENOSPC", /[Ff]ree some space/],
	["EROFS", /mounted read-only/],
	["EACCES", /change its permissions/],
	["SQLITE_READONLY_DIRECTORY", /read-only for this user/],
])("%s names what helps", (systemCode, remedy) => {
	const { message } = ledgerFailure(failing(systemCode), "/the/ledger");
	expect(message).toMatch(remedy);
	expect(message).not.toMatch(/Make the directory writable/);
});

test.each([
	[
		"ENOSPC",
		"cannot be written: no space is left (ENOSPC: said the system). Free some space there, or name a directory on another disk with the option dataDir.",
	],
	[
		"EIO",
		"cannot be written (EIO: said the system). Name another directory with the option dataDir.",
	],
	[
		"SQLITE_READONLY",
		"cannot be written (SQLITE_READONLY: said the system). The file, its directory or its file system is read-only for this user: change that. Name another directory with the option dataDir.",
	],
])("%s has the advice for it, and no other", (systemCode, rest) => {
	const { message } = ledgerFailure(failing(systemCode), "/the/ledger");
	expect(message).toBe(`The ledger of processes /the/ledger ${rest}`);
});

test("SQLite that cannot open a file for lack of a descriptor is not reported as a directory that cannot be written", () => {
	const failure = (lacks: boolean): string =>
		ledgerFailure(failing("SQLITE_CANTOPEN"), "/p", () => lacks).code;
	expect([failure(true), failure(false)]).toEqual([
		"REGISTRY_OUT_OF_DESCRIPTORS",
		"REGISTRY_UNWRITABLE",
	]);
});

test("the code is found below what wraps it, and may be missing", () => {
	const wrapped = new Error("query failed", { cause: failing("SQLITE_FULL") });
	expect(ledgerFailure(wrapped, "/p").code).toBe("REGISTRY_FULL");
	expect(systemCodeOf(new Error("plain"))).toBe("unknown");
	expect(systemCodeOf(Object.assign(new Error("odd"), { code: 5 }))).toBe(
		"unknown",
	);
	expect(ledgerFailure("not even an error", "/p").message).toContain(
		"not even an error",
	);
});

test("what is translated already stays what it is", () => {
	const error = ledgerFailure(failing("EIO"), "/p");
	expect(ledgerFailure(error, "/q")).toBe(error);
});
