import type { ChaosCase } from "./case.ts";
import { hostKilled } from "./families/host-killed.ts";
import { ledger } from "./families/ledger.ts";
import { livingHost } from "./families/living-host.ts";
import { protectionsKilled } from "./families/protections-killed.ts";
import { workers } from "./families/workers.ts";

/** Every case of this machine alone, in the order of the results. */
export const CASES: readonly ChaosCase[] = [
	...hostKilled,
	...protectionsKilled,
	...livingHost,
	...ledger,
	...workers,
];
