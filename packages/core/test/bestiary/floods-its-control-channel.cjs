// Writes on its control channel as long as anybody reads, without a line break.
const { Socket } = require("node:net");
const control = new Socket({ fd: 3 });
const chunk = Buffer.alloc(2 ** 14, "x");
const more = () => void control.write(chunk, more);
control.on("error", () => {});
more();
