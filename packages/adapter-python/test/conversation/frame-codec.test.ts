import { expect, test } from "vitest";
import {
	encodeFrame,
	type HostMessage,
} from "../../src/conversation/frame-codec.ts";
import { HostFrame } from "../../src/gen/bridge.ts";

function input(bytes: number, callId: number = 7): HostMessage {
	return { $case: "input", value: { callId, value: new Uint8Array(bytes) } };
}

test("frames of any size are encoded one after the other, and none changes later", () => {
	const sizes = [0, 100, 20_000, 1, 16_384, 200, 1_000_000, 3];
	const frames = sizes.map((size) => encodeFrame(input(size)));
	for (const [index, size] of sizes.entries()) {
		const alone = HostFrame.encode({ frame: input(size) }).finish();
		expect(Buffer.compare(alone, frames[index] as Uint8Array)).toBe(0);
	}
});

test("a frame that cannot be encoded leaves nothing in the next one", () => {
	expect(() => encodeFrame(input(10, -1))).toThrow();
	const { frame } = HostFrame.decode(encodeFrame(input(2)));
	expect(frame).toMatchObject({ $case: "input", value: { callId: 7 } });
});
