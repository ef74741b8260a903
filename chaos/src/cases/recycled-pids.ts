import {
	RECYCLED_PATHS,
	type RecycledPath,
} from "../../programs/recycled-pids/paths.ts";
import type { ChaosCase } from "../harness/chaos-case.ts";
import { namespacesUnavailable, recyclePids } from "../harness/enclosed.ts";
import { ALONE, withLayers } from "./layers.ts";

/** Of one round, at least: so many workers end together. */
const PIDS = 12;

/** A thousand recycled pids on each path. Most of a round is starting what ends. */
export const recycledPids: readonly ChaosCase[] = Object.entries(
	RECYCLED_PATHS,
).map(([path, name]) =>
	withLayers(ALONE, {
		row: "pids of ours are recycled, and strangers have them before the signal",
		name,
		rounds: 84,
		parallel: 2,
		selected: 1,
		unavailable: namespacesUnavailable,
		round: (stage) => recyclePids(stage, path as RecycledPath, PIDS),
	}),
);
