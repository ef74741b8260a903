import { expect, test } from "vitest";
import { sqliteUnusable } from "../../src/registry/sqlite.ts";

const INSTALL = "npm install better-sqlite3";
const OUTSIDE = 'external: ["better-sqlite3"]';
const AGAIN = "install it again on this system";

/** What was seen, and of the three remedies the one that helps. */
test.each([
	["Cannot find package 'better-sqlite3' imported from /app/main.mjs", INSTALL],
	[
		"Cannot find module 'better-sqlite3'\nRequire stack:\n- /app/main.cjs",
		INSTALL,
	],
	['Dynamic require of "fs" is not supported', OUTSIDE],
	[
		'Calling `require` for "fs" in an environment that doesn\'t expose the `require` function. See dynamic require',
		OUTSIDE,
	],
	['Could not dynamically require "/app/build/x.node".', OUTSIDE],
	["__dirname is not defined in ES module scope", OUTSIDE],
	["require is not defined", OUTSIDE],
	[
		"Cannot find module '/app/build/Release/better_sqlite3.node'\nRequire stack:",
		OUTSIDE,
	],
	[
		"Cannot find module '/app/node_modules/better-sqlite3/build/Release/better_sqlite3.node'",
		AGAIN,
	],
	[
		"/lib/libc.so.6: version `GLIBC_2.34' not found (required by /app/node_modules/better-sqlite3/prebuilds/linux-x64.node)",
		AGAIN,
	],
	["invalid ELF header", AGAIN],
])("%j has its own remedy", (message, remedy) => {
	const cause = new Error(message);
	const error = sqliteUnusable(cause, undefined);
	expect(error).toMatchObject({
		code: "REGISTRY_UNSUPPORTED",
		ran: "no",
		cause,
	});
	const remedies = [INSTALL, OUTSIDE, AGAIN];
	expect(remedies.filter((each) => error.message.includes(each))).toEqual([
		remedy,
	]);
	expect(error.message).toContain(message.split("\n")[0]);
	expect(error.message).not.toContain("\n");
});

test("beside an executable that contains the program, the place where the package belongs is named", () => {
	const cause = new Error("Cannot find module 'better-sqlite3/package.json'");
	expect(sqliteUnusable(cause, "/opt/app/app").message).toContain(
		"/opt/app/app contains the program, but not that module. Copy the package to /opt/app/node_modules/better-sqlite3.",
	);
});

test("what is thrown need not be an error", () => {
	expect(sqliteUnusable("no").message).toContain(`${process.arch}: no)`);
});
