/** Loses its reserve to what opens a file meanwhile, and prints what it could look at before and after one was closed. */
import { closeSync, openSync, readdirSync } from "node:fs";
import { DescriptorReserve } from "../../src/os/descriptors.ts";

const open = () => openSync("/dev/null", "r");
const reserve = new DescriptorReserve();
const held: number[] = [];
const outcome = (work: () => unknown): string => {
	try {
		work();
		return "done";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code ?? "";
	}
};
const fill = () => {
	while (outcome(() => held.push(open())) === "done");
};
const look = () => outcome(() => reserve.use(() => readdirSync("/proc")));

fill();
// What another thread opens while a look has given up a descriptor for itself.
let stolen = 0;
while (outcome(() => reserve.use(open)) === "done") stolen++;
const lost = look();
closeSync(held.pop() as number);
const free = look();
fill();
console.log(JSON.stringify({ stolen, lost, free, full: look() }));
