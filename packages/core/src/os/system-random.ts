import { randomBytes } from "node:crypto";
import type { Random } from "../contract/clock.ts";

/** Chance from the operating system: nothing that follows from it can be guessed. */
export const systemRandom: Random = {
	fraction: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
	token: () => randomBytes(32).toString("hex"),
};
