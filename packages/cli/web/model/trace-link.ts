/** Where a template has the id. */
const PLACE = "{traceId}";

/**
 * The address of a trace. The template is the viewer's own, such as `http://localhost:16686/trace/{traceId}`; `undefined`
 * when it has no place for the id, or is no address of the web.
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
