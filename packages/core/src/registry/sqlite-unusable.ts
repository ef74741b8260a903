import { dirname, join } from "node:path";
import { RegistryError } from "../contract/errors.ts";
import { messageOf } from "../contract/thrown.ts";
import { ownExecutable } from "../os/this-program.ts";

/** Where its package is: a binary that is missing there is no bundler's doing. */
const OWN_PACKAGE = /[\\/]node_modules[\\/]better-sqlite3[\\/]/;
/** What its JavaScript, or a bundler's, throws when it runs in a file that is not its own. */
const OUT_OF_PLACE =
	/dynamic(ally)? require|\b(require|module|__dirname|__filename) is not defined|better_sqlite3\.node|bindings/i;
const NOT_FOUND = /^Cannot find (module|package) '(better-sqlite3)/;

const OUTSIDE = [
	'esbuild, Rollup and Rolldown: external: ["better-sqlite3"]',
	'webpack: externals: { "better-sqlite3": "commonjs better-sqlite3" }',
	'Vite: ssr: { external: ["better-sqlite3"] }',
	'Next.js: serverExternalPackages: ["better-sqlite3"]',
].join("; ");

/**
 * Says why the native module of SQLite does not load, by what its loading threw:
 * it is not there, it was bundled, or it does not fit this system.
 */
export function sqliteUnusable(
	cause: unknown,
	executable: string | undefined = ownExecutable(),
): RegistryError {
	const thrown = firstLine(cause);
	return new RegistryError({
		code: "REGISTRY_UNSUPPORTED",
		ran: "no",
		message: wordsFor(thrown, executable),
		cause,
	});
}

function wordsFor(thrown: string, executable: string | undefined): string {
	if (NOT_FOUND.test(thrown) && executable !== undefined)
		return `The ledger's native module better-sqlite3 is not installed beside this program (${thrown}). ${executable} contains the program, but not that module. Copy the package to ${join(dirname(executable), "node_modules", "better-sqlite3")}.`;
	if (NOT_FOUND.test(thrown))
		return `The ledger's native module better-sqlite3 is not installed where this program runs (${thrown}). A bundle does not contain it. Run npm install better-sqlite3 next to the program, or copy it there with its node_modules.`;
	if (OUT_OF_PLACE.test(thrown) && !OWN_PACKAGE.test(thrown))
		return `The ledger's native module better-sqlite3 was bundled, but its binary cannot be bundled (${thrown}). Keep it outside of the bundle, and install it where the program runs. ${OUTSIDE}.`;
	return `The ledger's native module better-sqlite3 does not load on this system (${process.platform}-${process.arch}: ${thrown}). It contains binaries for Linux (glibc 2.34 or newer, or musl) and macOS, on x64 and arm64: install it again on this system instead of copying node_modules; on an unsupported system, build it in its folder (npm run build-release).`;
}

/** Without the list of the modules that required it. */
function firstLine(error: unknown): string {
	const text = messageOf(error);
	return text.replace(/\n.*/s, "");
}
