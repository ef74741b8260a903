import { createHash, timingSafeEqual } from "node:crypto";

/** Compares secrets in constant time: it does not depend on where they differ, or on their lengths. */
export function isSameSecret(given: string, right: string): boolean {
	const digest = (text: string): Buffer =>
		createHash("sha256").update(text).digest();
	return timingSafeEqual(digest(given), digest(right));
}
