// Holds signals as it is told: says when it listens, and when it heard one; ends when its input does.
import { HeldSignals } from "../../src/otlp/held-signals.ts";

const signals = new HeldSignals();
if (process.argv[2] === "hold") signals.hold();
process.once("SIGTERM", () => console.log("heard"));
process.stdin.resume().once("end", () => signals.raise());
console.log("listens");
