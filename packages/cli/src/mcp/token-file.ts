import { randomBytes } from "node:crypto";
import {
	closeSync,
	fstatSync,
	openSync,
	readFileSync,
	writeFileSync,
} from "node:fs";
import { CommandFailed } from "../command/command-failed.ts";

const TOKEN_BYTES = 32;
const SHORTEST_TOKEN = 32;
const TOKEN = new RegExp(`^[\\x21-\\x7e]{${SHORTEST_TOKEN},}$`);
const OTHERS = 0o077;

/** The token in a file that no other user may read. Creates the file if there is none. */
export function tokenIn(path: string): string {
	try {
		const token = randomBytes(TOKEN_BYTES).toString("hex");
		writeFileSync(path, `${token}\n`, { flag: "wx", mode: 0o600 });
		return token;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
	}
	const file = openSync(path, "r");
	try {
		if ((fstatSync(file).mode & OTHERS) !== 0)
			throw new CommandFailed(
				"failed",
				`Other users can read ${path}. Run: chmod 600 ${path}`,
			);
		const token = readFileSync(file, "utf8").trim();
		if (!TOKEN.test(token))
			throw new CommandFailed(
				"failed",
				`The token in ${path} must be ${SHORTEST_TOKEN} visible ASCII characters or more. Write another one, or remove the file: then a new one is created.`,
			);
		return token;
	} finally {
		closeSync(file);
	}
}
