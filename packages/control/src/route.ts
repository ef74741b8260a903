import { POOL_ACTS, type PoolAct } from "./controlled-run.ts";
import type { LogFilter } from "./logs.ts";
import type { ControlScope } from "./scopes.ts";

/** What a request asks for. */
export type Route =
	| { readonly kind: "state"; readonly scope: "read" }
	| { readonly kind: "events"; readonly scope: "read" }
	| {
			readonly kind: "logs";
			readonly scope: "logs";
			readonly filter: LogFilter;
	  }
	| { readonly kind: "tools"; readonly scope: "read"; readonly pool: string }
	| {
			readonly kind: "act";
			readonly scope: "act";
			readonly pool: string;
			readonly act: PoolAct;
	  }
	| { readonly kind: "call"; readonly scope: "call"; readonly pool: string };

/** The reason why a request is refused. */
export interface Refusal {
	readonly status: 400 | 401 | 403 | 404 | 405 | 408 | 413 | 415 | 422 | 503;
	readonly code: string;
	readonly message: string;
}

/** Finds the route of a request. @param url path and query. */
export function routeOf(method: string, url: string): Route | Refusal {
	const parsed = URL.parse(url, "http://run");
	const path = parsed?.pathname.split("/").slice(1).map(decoded) ?? [];
	const [version, what = "", name, action = "", ...rest] = path;
	if (parsed === null || version !== "v1" || rest.length > 0)
		return notFound(url);
	const isRead = method === "GET";
	const query = (key: string): string | undefined =>
		parsed.searchParams.get(key) ?? undefined;
	if (name === undefined) {
		if (what !== "state" && what !== "events" && what !== "logs")
			return notFound(url);
		if (!isRead) return wrongMethod(method, url, "GET");
		if (what !== "logs") return { kind: what, scope: "read" };
		const filter = {
			worker: query("worker"),
			pool: query("pool"),
			call: query("call"),
		};
		return { kind: "logs", scope: "logs", filter };
	}
	if (what !== "pools") return notFound(url);
	if (action === "tools")
		return isRead
			? { kind: "tools", scope: "read", pool: name }
			: wrongMethod(method, url, "GET");
	const act = POOL_ACTS.find((each) => each === action);
	if (act === undefined && action !== "call") return notFound(url);
	if (method !== "POST") return wrongMethod(method, url, "POST");
	return act === undefined
		? { kind: "call", scope: "call", pool: name }
		: { kind: "act", scope: "act", pool: name, act };
}

/** Refuses a request whose scope the program does not allow. */
export function scopeRefusal(
	wanted: ControlScope,
	allowed: readonly ControlScope[],
): Refusal | undefined {
	if (allowed.includes(wanted)) return undefined;
	const scopes = [...allowed, wanted].map((scope) => `"${scope}"`).join(", ");
	return {
		status: 403,
		code: "SCOPE_NOT_ALLOWED",
		message: `This needs the scope "${wanted}", and the program allows ${allowed.length === 0 ? "none" : allowed.map((scope) => `"${scope}"`).join(", ")}. Open its run with control: { scopes: [${scopes}] }.`,
	};
}

function decoded(part: string): string {
	try {
		return decodeURIComponent(part);
	} catch {
		return part;
	}
}

function notFound(url: string): Refusal {
	return {
		status: 404,
		code: "NOT_FOUND",
		message: `There is no ${url.slice(0, 200)}. README.md of @snakepit/control lists all addresses.`,
	};
}

function wrongMethod(method: string, url: string, right: string): Refusal {
	return {
		status: 405,
		code: "METHOD_NOT_ALLOWED",
		message: `${url.slice(0, 200)} takes ${right}, not ${method}.`,
	};
}
