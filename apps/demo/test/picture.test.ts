import { expect, test } from "vitest";
import { PlainDisplay } from "../src/display.ts";
import { PictureDisplay } from "../src/picture.ts";
import { event, killed, ready, spawned, starting } from "./events.ts";

test("the picture has the board at the replacement and the report, and no path of this machine", () => {
	const written: string[] = [];
	const picture = new PictureDisplay(
		new PlainDisplay((text) => written.push(text)),
	);
	for (const each of [
		event({
			type: "pool.adapter_noted",
			adapter: "python-grpc",
			note: "Python at /home/a",
		}),
		starting("digits-0", "r-1"),
		ready("digits-0", "r-1", 41),
		killed("digits-0", "r-1", 41),
		starting("digits-0", "r-2"),
		spawned("digits-0", "r-2", 77),
	])
		picture.handle(each);
	picture.progress({ done: 1_000, total: 1_800, perSecond: 400 });
	picture.progress({ done: 1_100, total: 1_800, perSecond: 400 });
	picture.print("after the picture of the board");
	picture.close();
	picture.print([["good", "<nothing> is left & all is well"]]);
	const svg = picture.draw();
	expect(written.join("")).toContain("/home/a");
	expect(svg).not.toContain("/home/a");
	expect(svg).toContain(">digits-0 is gone, pid 41: SIGKILL, 1 call lost<");
	expect(svg).toContain(">starting<");
	expect(svg).toContain("1,000 of 1,800");
	expect(svg).not.toContain("after the picture");
	expect(svg).toContain("&#60;nothing&#62; is left &#38; all is well");
});
