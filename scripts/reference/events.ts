import { join } from "node:path";
import { EVENT_PAIRS } from "../../packages/core/src/testing/event-recorder.ts";
import { markdownTable } from "../markdown-table.ts";
import { root } from "../run.ts";
import type { TypeScriptProject } from "../typescript-project.ts";
import { page } from "./page.ts";

const CORE = join(root, "packages/core");
/** What every event has. */
const COMMON: readonly string[] = ["type", "wallMs"];

interface DescribedEvent {
	readonly type: string;
	readonly meaning: string;
	readonly fields: readonly string[];
}

/** The events of core's union, in the order of their declarations: the comment at an event's `type` is its meaning. */
export function describedEvents(
	project: TypeScriptProject,
): readonly DescribedEvent[] {
	const union = project
		.exportsOf(join(CORE, "src/contract/events.ts"))
		.get("SnakepitEvent");
	if (union === undefined) throw new Error("events.ts has no SnakepitEvent.");
	const events = project.alternativesOf(union).map((fields) => {
		const type = fields.get("type");
		const [declaration] = type ? project.declarationsOf(type.symbol) : [];
		if (type === undefined || declaration === undefined)
			throw new Error("An event has no type.");
		return {
			type: type.text.replaceAll('"', ""),
			meaning: project.commentOf(type.symbol).meaning,
			fields: [...fields.keys()].filter((name) => !COMMON.includes(name)),
			at: declaration.pos,
		};
	});
	// The compiler's own order is that in which it met them.
	return events.sort((a, b) => a.at - b.at);
}

/** packages/core/src/gen/event-types.ts: the names by which a program may ask for events. */
export function eventTypes(events: readonly DescribedEvent[]): string {
	const types = events.map(({ type }) => `\t"${type}": true,\n`).join("");
	return `// Made from the union of events by \`npx pnpm@12 generate\`.
import type { SnakepitEventType } from "../contract/events.ts";

/** Every type of event: the compiler compares it with the union. */
export const EVENT_TYPES: Readonly<Record<SnakepitEventType, true>> = {
${types}};
`;
}

/** docs/reference/events.md. */
export function eventsReference(events: readonly DescribedEvent[]): string {
	const rows = events.map(({ type, meaning, fields }) => [
		`\`${type}\``,
		meaning,
		fields.map((name) => `\`${name}\``).join(", "),
	]);
	return page(
		"Events",
		'Received with `pool.on(listener)`, `pool.on(type, listener)` or `onEvent`. Each is a fact in the past tense with `type` and `wallMs` (milliseconds since the Unix epoch) beside the fields below; their types are in `EventOf<"worker.ready">`.',
		markdownTable(["event", "meaning", "fields"], rows),
		"## Pairs",
		"What lasts has one start and exactly one end.",
		markdownTable(
			["what", "start", "end"],
			EVENT_PAIRS.map(({ what, start, ends }) => [
				what,
				`\`${start}\``,
				ends.map((end) => `\`${end}\``).join(" or "),
			]),
		),
	);
}
