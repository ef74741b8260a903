import { useEffect, useState } from "preact/hooks";
import { get, type RequestError } from "../feed/requests.ts";

/** What an address answered last; neither is there before it has answered. */
export interface Polled<Answer> {
	readonly answer?: Answer;
	/** Why it does not answer. */
	readonly problem?: string;
}

/** Asks an address of the server now, and again after so many milliseconds. */
export function usePolled<Answer>(
	path: string,
	everyMs: number,
): Polled<Answer> {
	const [polled, setPolled] = useState<Polled<Answer>>({});
	useEffect(() => {
		let show = setPolled;
		const ask = () =>
			get<Answer>(path).then(
				(answer) => show({ answer }),
				({ message }: RequestError) => show({ problem: message }),
			);
		void ask();
		const timer = setInterval(ask, everyMs);
		return () => {
			show = () => {};
			clearInterval(timer);
		};
	}, [path, everyMs]);
	return polled;
}
