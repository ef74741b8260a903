import { StartError } from "@snakepit/core";
import type { PythonStartErrorCode } from "../start-error-codes.ts";
import { cloneNote } from "../worker/same-release.ts";
import { type Requirement, readRequirement } from "./environment-key.ts";

const BRIDGE = "snakepit-bridge";
/** The name that a requirement begins with, and what may come after one. Source: PyPA's dependency specifiers. */
const NAME = /^\s*([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)\s*(?:$|[[(<>=!~;@,])/i;
/** A file to install; pip checks for a file before it reads the text as a name. */
const FILE = /\.(?:whl|zip|tar\.\w+|tgz)$/i;

/**
 * Refuses an environment in which no worker can run, before it is created.
 *
 * What a directory, a file or an address contains is known only when it is installed.
 *
 * @param env that of the interpreter: `PYTHONPATH` may lead to the bridge as well.
 * @throws StartError `BRIDGE_MISSING`
 */
export function requireBridgeAmong(
	texts: readonly string[] | undefined,
	env: Readonly<Record<string, string | undefined>>,
): void {
	if (texts === undefined || env["PYTHONPATH"]) return;
	const names = texts.map(readRequirement).map(nameOf);
	if (names.includes(undefined) || names.includes(BRIDGE)) return;
	throw new StartError<PythonStartErrorCode>({
		code: "BRIDGE_MISSING",
		ran: "no",
		message: `The environment was not created: its requirements (${texts.join(", ") || "none"}) do not contain ${BRIDGE}, which every worker needs. Add "${BRIDGE}" to the requirements of pythonEnvironment(), even if another requirement depends on it.${cloneNote()}`,
	});
}

/** Normalized as in the package index; `undefined` if it cannot be read. Source: PyPA, "Names and normalization". */
function nameOf(requirement: Requirement): string | undefined {
	if (requirement.kind === "directory" || FILE.test(requirement.text.trim()))
		return undefined;
	return NAME.exec(requirement.text)?.[1]
		?.toLowerCase()
		.replaceAll(/[-_.]+/g, "-");
}
