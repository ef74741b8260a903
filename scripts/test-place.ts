import { chmodSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removePlace } from "./remove-place.ts";

/**
 * Gives all tests of a run one temporary directory, and removes it after the last:
 * hosts that tests kill leave theirs. Its name is short, for there are sockets in it.
 */
export default function testPlace(): () => void {
	const place = mkdtempSync(join(tmpdir(), "sp-"));
	// Tests that root runs have a nobody look at directories of its own in there.
	chmodSync(place, 0o711);
	process.env["TMPDIR"] = place;
	// It would come first.
	delete process.env["XDG_RUNTIME_DIR"];
	return () => removePlace(place);
}
