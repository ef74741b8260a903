import { INCARNATION_VARIABLE, MARKER_VARIABLE } from "../contract/identity.ts";
import type { LaunchSpec, WorkerSlot } from "../contract/launch.ts";
import type { ProcessSpec } from "../contract/world.ts";

/** What the processes of a pool have in common. */
export interface SpecSetting {
	/** The value of the marker variable. */
	readonly marker: string;
	/** The environment that workers inherit, before the adapter's own. */
	readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * What the operating system is asked to execute: the adapter's wish, with the
 * host's environment below it and the marker above it.
 */
export function processSpec(
	spec: LaunchSpec,
	{ incarnation }: Pick<WorkerSlot, "incarnation">,
	{ marker, environment }: SpecSetting,
	opened: Pick<ProcessSpec, "launcher" | "descriptors"> = {},
): ProcessSpec {
	const env: Record<string, string> = {};
	const wished = { ...inherited(environment, spec.inheritEnv), ...spec.env };
	for (const [name, value] of Object.entries(wished)) {
		if (value !== undefined) env[name] = value;
	}
	env[MARKER_VARIABLE] = marker;
	env[INCARNATION_VARIABLE] = incarnation;
	return {
		executable: spec.executable,
		args: spec.args ?? [],
		env,
		cwd: spec.cwd,
		stdin: spec.stdio === "adapter" ? "pipe" : (spec.stdin ?? "empty"),
		control: spec.launchPayload !== undefined,
		...opened,
	};
}

/** What a program needs in order to find other programs, files and the user's language. */
const MINIMAL: readonly string[] = [
	...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "TERM"],
	...["LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"],
	// Whom it may trust: files, which are no secrets. Without them no connection succeeds where a network has its own.
	...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"],
	...["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NO_PROXY", "no_proxy"],
];
/** The way to the network, where there is but one. */
const PROXIES: readonly string[] = [
	...["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"],
	...["ALL_PROXY", "all_proxy"],
];

function inherited(
	environment: Readonly<Record<string, string | undefined>>,
	which: LaunchSpec["inheritEnv"] = "all",
): Readonly<Record<string, string | undefined>> {
	if (which === "all") return environment;
	// By name: to list all of this program's own environment takes longer than the rest of a start in this program.
	const proxies = PROXIES.filter((name) => !hasPassword(environment[name]));
	const asked = which === "minimal" ? [] : which;
	const names = [...MINIMAL, ...proxies, ...asked];
	return Object.fromEntries(names.map((name) => [name, environment[name]]));
}

/** Whether a URL may have one: `http://user:password@host`. */
function hasPassword(url = ""): boolean {
	return url.includes("@");
}
