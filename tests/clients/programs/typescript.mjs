// The plain loop of the TypeScript SDK: each prompt of the command line, its tools run until it is done.
import { createRequire } from "node:module";
import { run, tools } from "./tools.mjs";

const require = createRequire(process.env.CLIENT_FOLDER + "/");
const { Anthropic } = require("@anthropic-ai/sdk");
const client = new Anthropic({ maxRetries: 0 });

const messages = [];
for (const prompt of process.argv.slice(2)) {
  messages.push({ role: "user", content: prompt });
  for (;;) {
    const stream = client.messages.stream({
      model: "claude-sonnet-4-6",
      max_tokens: 4000,
      system: "You work in a folder.",
      thinking: { type: "adaptive" },
      tools,
      messages,
    });
    const reply = await stream.finalMessage();
    messages.push({ role: reply.role, content: reply.content });
    const calls = reply.content.filter((block) => block.type === "tool_use");
    if (!calls.length) break;
    messages.push({ role: "user", content: calls.map(run) });
  }
}
console.log(messages.length);
