export {
	type HostCondition,
	type HostEvidence,
	type HostVerdict,
	judgeHost,
} from "./watchdog/judge-host.ts";
export { WATCHDOG_DEFAULTS, type WatchdogOptions } from "./watchdog/options.ts";
export { watchdog } from "./watchdog/watchdog.ts";
