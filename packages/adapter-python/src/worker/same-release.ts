import { StartError } from "@snakepit/core";
import { VERSION } from "../gen/version.ts";

/** The bridge protocols that this package speaks, both included. */
export const PROTOCOL = { min: 1, max: 1 } as const;

/** Name and version of this package, for messages on the other side. */
export const HOST_PACKAGE: string = `@snakepit/adapter-python ${VERSION}`;

import type {
	PythonStartError,
	PythonStartErrorCode,
} from "../start-error-codes.ts";

/** How a version begins, both on npm and PyPI. */
const RELEASE = /^(\d+)\.(\d+)/;

/** The part of a version that must be the same in all packages: `0.3` of `0.3.1`, `2` of `2.4.0`. */
function releaseOf(version: string): string | undefined {
	const found = RELEASE.exec(version);
	if (found === null) return undefined;
	const [release, major = ""] = found;
	return major === "0" ? release : major;
}

/** Whether packages of these versions work together. */
export function isSameRelease(
	bridge: string,
	adapter: string = VERSION,
): boolean {
	const release = releaseOf(bridge);
	return release !== undefined && release === releaseOf(adapter);
}

/** What pip installs for this package: `snakepit-bridge==0.3.*`, with the extra that the transport needs. */
export function fittingBridge(
	extra?: string,
	adapter: string = VERSION,
): string {
	const extras = extra === undefined ? "" : `[${extra}]`;
	return `snakepit-bridge${extras}==${releaseOf(adapter)}.*`;
}

/** The version of a build that was never published. */
const UNPUBLISHED = "0.0.0";

/** Where the bridge is for a package that was built in a clone; empty for a published one. */
export function cloneNote(extra?: string, adapter: string = VERSION): string {
	const extras = extra === undefined ? "" : `[${extra}]`;
	return adapter === UNPUBLISHED
		? `\n(This build of Snakepit was not published, and neither was its bridge: install "CLONE/python${extras}" instead, where CLONE is the clone that it was built in.)`
		: "";
}

/** The error if the packages do not match: their versions, and how to fix it. */
export function releaseMismatch(
	who: string,
	bridge: string,
	install: string,
	{
		extra,
		more = "",
	}: { readonly extra?: string; readonly more?: string } = {},
): PythonStartError {
	const release = releaseOf(bridge);
	const npm =
		release === undefined
			? ""
			: `, or install the npm packages of the bridge's release, including all others of Snakepit that the program uses:\n  npm install @snakepit/core@${release} @snakepit/adapter-python@${release}`;
	const shared = VERSION.startsWith("0.")
		? "first two numbers"
		: "first number";
	return new StartError<PythonStartErrorCode>({
		code: "VERSION_MISMATCH",
		ran: "no",
		message: `${who} has snakepit-bridge ${bridge}, but this is @snakepit/adapter-python ${VERSION}; the ${shared} of their versions must be the same. Install the bridge of this release (a pythonEnvironment() does for a requirement without a version):\n  ${install} "${fittingBridge(extra)}"${npm}${more}`,
	});
}
