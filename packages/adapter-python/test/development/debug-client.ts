import { connect } from "node:net";
import { onTestFinished } from "vitest";

/** What debugpy sends, as far as tests read it (the Debug Adapter Protocol). */
interface Message {
	readonly type: "event" | "response";
	readonly event?: string;
	readonly command?: string;
	readonly success?: boolean;
	readonly body?: Readonly<Record<string, never>>;
}

/** An editor, as far as it debugs. */
export class DebugClient {
	readonly #socket;
	#sent = 0;
	#bytes = Buffer.alloc(0);
	#unread: Message[] = [];
	#waiting: (() => void)[] = [];

	constructor(port: number) {
		this.#socket = connect({ host: "127.0.0.1", port });
		this.#socket.on("error", () => {}); // The worker has ended.
		this.#socket.on("data", (data) => {
			this.#bytes = Buffer.concat([this.#bytes, data]);
			this.#parse();
			for (const look of this.#waiting.splice(0)) look();
		});
		onTestFinished(() => void this.#socket.destroy());
	}

	/** Attaches, with breakpoints at lines of a file. */
	async attach(file: string, lines: readonly number[]): Promise<void> {
		await this.asks("initialize", { adapterID: "test", pathFormat: "path" });
		this.#send("attach", { justMyCode: true });
		await this.#next((message) => message.event === "initialized");
		await this.asks("setBreakpoints", {
			source: { path: file },
			breakpoints: lines.map((line) => ({ line })),
		});
		await this.asks("configurationDone", {});
	}

	/** Waits until a thread stops; returns its number and its innermost frame. */
	async stopped(): Promise<{
		readonly threadId: number;
		readonly frame: {
			readonly id: number;
			readonly name: string;
			readonly line: number;
		};
	}> {
		const stop = await this.#next(({ event }) => event === "stopped");
		const threadId = stop.body?.["threadId"] as unknown as number;
		const { stackFrames } = await this.asks("stackTrace", { threadId });
		return { threadId, frame: (stackFrames as never)[0] };
	}

	async asks(
		command: string,
		args: object,
	): Promise<Readonly<Record<string, unknown>>> {
		this.#send(command, args);
		const answer = await this.#next(
			(message) => message.type === "response" && message.command === command,
		);
		if (answer.success !== true) throw new Error(JSON.stringify(answer));
		return answer.body ?? {};
	}

	#send(command: string, args: object): void {
		const seq = ++this.#sent;
		const text = JSON.stringify({
			...{ seq, type: "request", command, arguments: args },
		});
		this.#socket.write(
			`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
		);
	}

	#parse(): void {
		for (;;) {
			const head = this.#bytes.indexOf("\r\n\r\n");
			const size = /Content-Length: (\d+)/i.exec(
				this.#bytes.subarray(0, Math.max(0, head)).toString(),
			);
			const end = head + 4 + Number(size?.[1]);
			if (size === null || this.#bytes.length < end) return;
			const text = this.#bytes.subarray(head + 4, end).toString();
			this.#unread.push(JSON.parse(text) as Message);
			this.#bytes = this.#bytes.subarray(end);
		}
	}

	/** Takes the first message that fits. */
	async #next(fits: (message: Message) => boolean): Promise<Message> {
		for (;;) {
			const index = this.#unread.findIndex(fits);
			const [found] = index < 0 ? [] : this.#unread.splice(index, 1);
			if (found !== undefined) return found;
			await new Promise<void>((resolve) => this.#waiting.push(resolve));
		}
	}
}
