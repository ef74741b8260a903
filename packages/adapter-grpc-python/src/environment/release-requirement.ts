import { fittingBridge } from "../worker/same-release.ts";

/** The bridge by its name alone, perhaps with extras. Source: PyPA's dependency specifiers. */
const BARE = /^\s*snakepit[-_.]+bridge\s*(\[[^\]]*\])?\s*$/i;

/**
 * What is installed for a requirement: for the bridge without a version the one that belongs to this package, so that an
 * update of this package makes another environment. Any other is left as it is.
 */
export function releaseRequirement(text: string): string {
	const found = BARE.exec(text);
	if (found === null) return text;
	const [name = "", version = ""] = fittingBridge().split("==");
	return `${name}${found[1] ?? ""}==${version}`;
}
