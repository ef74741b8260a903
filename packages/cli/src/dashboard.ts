// The dashboard in a program's own server, behind its own login.
import type { IncomingMessage, Server } from "node:http";
import { packageDirectory } from "./command/packages.ts";
import {
	type DashboardHandler,
	type DashboardOptions,
	type MountedDashboard,
	type MountOptions,
	makeHandler,
	mount,
} from "./dash/mount-dashboard.ts";
import { readPage } from "./dash/page-answers.ts";

export type { ControlScope } from "@snakepit/control";
export type {
	DashboardHandler,
	DashboardOptions,
	MountedDashboard,
	MountOptions,
};

const parts = {
	page: () => readPage(packageDirectory("dist/page")),
	streamMs: 600_000,
};

/**
 * Adds the dashboard to a server of `node:http`, and so of Express, Fastify and others, at a path of its own. All other
 * requests go where they went before.
 *
 * @throws OptionsError `UNKNOWN_OPTION`, or `INVALID_OPTION`: for example without `authorize`, which decides who may see it, or
 *   where the server has a dashboard at that path already.
 */
export function mountDashboard(
	server: Server,
	options: MountOptions,
): MountedDashboard {
	return mount(server, options, parts);
}

/**
 * Makes a handler of requests for frameworks that call handlers after others, such as those of a session: mount it at a
 * path of your choice.
 *
 * @throws OptionsError `UNKNOWN_OPTION` or `INVALID_OPTION`.
 */
export function dashboardHandler<
	Request extends IncomingMessage = IncomingMessage,
>(options: DashboardOptions<Request>): DashboardHandler<Request> {
	return makeHandler(options, parts);
}
