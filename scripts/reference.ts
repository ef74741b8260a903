// Makes docs/reference from the tables that the code runs on, and the list of events from their union.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorsReference } from "./reference/errors.ts";
import {
	describedEvents,
	eventsReference,
	eventTypes,
} from "./reference/events.ts";
import { optionsReference } from "./reference/options.ts";
import { statesReference } from "./reference/states.ts";
import { telemetryReference } from "./reference/telemetry.ts";
import { root } from "./run.ts";
import { TypeScriptProject } from "./typescript-project.ts";

using project = new TypeScriptProject();
const events = describedEvents(project);
writeFileSync(
	join(root, "packages/core/src/gen/event-types.ts"),
	eventTypes(events),
);

const directory = join(root, "docs/reference");
mkdirSync(directory, { recursive: true });
const pages: Readonly<Record<string, string>> = {
	"errors.md": errorsReference(project),
	"events.md": eventsReference(events),
	"options.md": await optionsReference(project),
	"states.md": statesReference(),
	"telemetry.md": telemetryReference(),
};
for (const [name, text] of Object.entries(pages))
	writeFileSync(join(directory, name), text);
