// Runs once before the tests that need a cluster: in their namespace there is no network to install Ray from.
import { clusterPython } from "./python.ts";

export default function prepare(): void {
	clusterPython();
}
