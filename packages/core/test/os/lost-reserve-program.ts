/** Loses its reserve to what opens a file meanwhile, and prints what it could look at before and after one came free. */
import { closeSync, openSync, readdirSync } from "node:fs";
import { DescriptorReserve } from "../../src/os/descriptor-reserve.ts";

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
reserve.use(open); // Nobody closes it.
const lost = look();
closeSync(held.pop() as number);
const free = look();
fill();
console.log(JSON.stringify({ lost, free, full: look() }));
