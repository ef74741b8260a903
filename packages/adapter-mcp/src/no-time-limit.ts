/**
 * For requests to a server: the pool sets deadlines. The client's default would fail a long call, or a long start,
 * after a minute.
 */
export const NO_TIME_LIMIT: { readonly timeout: number } = {
	timeout: 2 ** 31 - 1,
};
