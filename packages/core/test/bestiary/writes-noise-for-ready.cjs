// Answers its launch message with bytes that are no text.
const { Socket } = require("node:net");
new Socket({ fd: 3 }).write(Buffer.from([0xff, 0x00, 0xfe, 0x7f, 0x0a]));
setInterval(() => {}, 1e9);
