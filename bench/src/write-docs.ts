// Makes docs/benchmarks.md from the results that are kept.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/run.ts";
import { benchmarksPage, keptResults } from "./report.ts";

writeFileSync(join(root, "docs/benchmarks.md"), benchmarksPage(keptResults()));
