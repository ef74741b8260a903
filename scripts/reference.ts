// Makes docs/reference from the tables that the code runs on.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorsReference } from "./reference/errors.ts";
import { eventsReference } from "./reference/events.ts";
import { optionsReference } from "./reference/options.ts";
import { statesReference } from "./reference/states.ts";
import { telemetryReference } from "./reference/telemetry.ts";
import { root } from "./run.ts";

const directory = join(root, "docs/reference");
mkdirSync(directory, { recursive: true });
const pages: Readonly<Record<string, string>> = {
	"errors.md": errorsReference(),
	"events.md": eventsReference(),
	"options.md": optionsReference(),
	"states.md": statesReference(),
	"telemetry.md": telemetryReference(),
};
for (const [name, text] of Object.entries(pages))
	writeFileSync(join(directory, name), text);
