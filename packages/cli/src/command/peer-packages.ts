import { CommandFailed } from "./command-failed.ts";

/**
 * Loads packages that not every user installs with this one.
 *
 * @param names for the message: what to install.
 */
export async function loadPeers<Loaded>(
	names: readonly string[],
	load: () => Promise<Loaded>,
): Promise<Loaded> {
	try {
		return await load();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND")
			throw error;
		throw new CommandFailed(
			"failed",
			`A package is missing: ${(error as Error).message}. Run: npm install ${names.join(" ")}`,
		);
	}
}
