// Cleaning up after a dead run from outside of any host: for a program that outlives one.
export {
	type RunSettlement,
	type SettledRun,
	type SettleRunParts,
	settleRun,
} from "./cleanup/settle-run.ts";
