/** The views, in the order of the navigation. */
export const VIEWS = [
	"workers",
	"charts",
	"logs",
	"incidents",
	"calls",
	"tools",
	"history",
] as const;

type View = (typeof VIEWS)[number];

/** What the page shows: the fragment of its address, `#/logs?worker=a`. */
export interface PageRoute {
	readonly view: View;
	readonly query: Readonly<Record<string, string>>;
}

export function routeOf(fragment: string): PageRoute {
	const [path = "", query = ""] = fragment.replace(/^#\/?/, "").split("?", 2);
	const view = VIEWS.find((each) => each === path) ?? "workers";
	return { view, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function fragmentOf(
	view: View,
	query: Readonly<Record<string, string | undefined>> = {},
): string {
	const present = Object.entries(query).filter(
		(entry): entry is [string, string] => Boolean(entry[1]),
	);
	const text = new URLSearchParams(present).toString();
	return `#/${view}${text === "" ? "" : `?${text}`}`;
}

/** The place of the id in a template. */
const PLACE = "{traceId}";

/**
 * The address of a trace. The template is the viewer's own, such as `http://localhost:16686/trace/{traceId}`;
 * `undefined` if it has no place for the id, or is not a web address.
 */
export function traceLink(
	template: string,
	traceId: string,
): string | undefined {
	if (!template.includes(PLACE) || !/^[0-9a-f]{32}$/.test(traceId)) return;
	const url = URL.parse(template.replaceAll(PLACE, traceId));
	return url?.protocol === "http:" || url?.protocol === "https:"
		? url.href
		: undefined;
}
