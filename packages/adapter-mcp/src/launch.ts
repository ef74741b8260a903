import type { LaunchSpec } from "@snakepit/core/adapter";
import type { McpServerOptions } from "./options.ts";

/** A server's standard input and output are the conversation. */
export function launchOf({
	command: [executable = "", ...args],
	cwd,
	env,
	inheritEnv = "minimal",
}: McpServerOptions): LaunchSpec {
	return { executable, args, cwd, env, inheritEnv, stdio: "adapter" };
}
