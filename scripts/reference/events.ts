import { basename, join } from "node:path";
import { EVENT_PAIRS } from "@snakepit/core/testing";
import { root } from "../run.ts";
import { TypeScriptProject } from "../typescript-project.ts";
import { page, table } from "./page.ts";

const CORE = join(root, "packages/core");
/** Where events are declared, in the order of the page. */
const FILES: readonly string[] = [
	"run-events.ts",
	"pool-events.ts",
	"call-events.ts",
	"job-events.ts",
	"events.ts",
];
/** What every event has. */
const COMMON: readonly string[] = ["type", "wallMs"];

/** docs/reference/events.md, from the union of events: the comment at an event's `type` is its meaning. */
export function eventsReference(): string {
	using project = new TypeScriptProject(join(CORE, "tsconfig.json"));
	const union = project
		.exportsOf(join(CORE, "src/events.ts"))
		.get("SnakepitEvent");
	if (union === undefined) throw new Error("events.ts has no SnakepitEvent.");
	const events = project.alternativesOf(union).map((fields) => {
		const type = fields.get("type");
		const [declaration] = type ? project.declarationsOf(type.symbol) : [];
		if (type === undefined || declaration === undefined)
			throw new Error("An event has no type.");
		const file = basename(declaration.getSourceFile().fileName);
		return {
			fields,
			type,
			at: [FILES.indexOf(file), declaration.pos] as const,
		};
	});
	// The compiler's own order is that in which it met them.
	events.sort(({ at: a }, { at: b }) => a[0] - b[0] || a[1] - b[1]);
	const rows = events.map(({ fields, type }) => {
		const names = [...fields.keys()].filter((name) => !COMMON.includes(name));
		return [
			`\`${type.text.replaceAll('"', "")}\``,
			project.commentOf(type.symbol).meaning,
			names.map((name) => `\`${name}\``).join(", "),
		];
	});
	return page(
		"Events",
		'Received with `pool.on(listener)`, `pool.on(type, listener)` or `onEvent`. Each is a fact in the past tense with `type` and `wallMs` (milliseconds since the Unix epoch) beside the fields below; their types are in `EventOf<"worker.ready">`.',
		table(["event", "meaning", "fields"], rows),
		"## Pairs",
		"What lasts has one start and exactly one end.",
		table(
			["what", "start", "end"],
			EVENT_PAIRS.map(({ what, start, ends }) => [
				what,
				`\`${start}\``,
				ends.map((end) => `\`${end}\``).join(" or "),
			]),
		),
	);
}
