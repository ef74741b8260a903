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
