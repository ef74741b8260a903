// What `pool.resize`, `recycle`, `restart`, `pause` and `resume` take.

export type {
	ControlOptions,
	NewSize,
	ReplaceOptions,
} from "./pool/pool-control.ts";
