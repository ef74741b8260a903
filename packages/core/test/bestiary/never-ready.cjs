// Reads its launch message, and has nothing to say.
const { Socket } = require("node:net");
new Socket({ fd: 3 }).resume();
console.error("still importing");
setInterval(() => {}, 1e9);
