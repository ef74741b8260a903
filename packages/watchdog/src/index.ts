export { type GuardOptions, guard } from "./guard/guard.ts";
export {
	type HostCondition,
	type HostEvidence,
	type HostVerdict,
	judgeHost,
} from "./watchdog/judge-host.ts";
