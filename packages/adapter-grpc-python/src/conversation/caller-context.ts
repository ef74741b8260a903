import { AsyncResource } from "node:async_hooks";

/** Runs something in the asynchronous context of a caller. */
export type InContext = <T>(action: () => T) => T;

/** Takes the context that holds now. Not `AsyncLocalStorage.snapshot()`: it binds a function anew, which costs as much as the rest of a call. */
export function captureContext(): InContext {
	const context = new AsyncResource("snakepit.conversation");
	return (action) => context.runInAsyncScope(action);
}
