import { render } from "preact";
import "./style/page.css";
import { openSession } from "./feed/requests.ts";
import { RunFeed } from "./feed/run-feed.ts";
import { Store } from "./feed/store.ts";
import { FIRST_STATE, type PageState } from "./model/page-state.ts";
import { App, applyTheme, storedTheme } from "./views/app.tsx";

applyTheme(storedTheme());
const store = new Store<PageState>(FIRST_STATE);
const feed = new RunFeed(store);
const element = document.getElementById("app");
if (element !== null) {
	element.textContent = "";
	render(<App store={store} feed={feed} />, element);
}
void openSession().then((session) => {
	store.update((state) => ({ ...state, session }));
	if (session.kind === "open") void feed.start();
});
