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

export type View = (typeof VIEWS)[number];

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
	const given = Object.entries(query).filter(
		(entry): entry is [string, string] => Boolean(entry[1]),
	);
	const text = new URLSearchParams(given).toString();
	return `#/${view}${text === "" ? "" : `?${text}`}`;
}
