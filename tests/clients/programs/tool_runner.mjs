// The tool runner of the TypeScript SDK: each prompt of the command line in one conversation.
import { createRequire } from "node:module";
import { answer, tools } from "./tools.mjs";

const require = createRequire(process.env.CLIENT_FOLDER + "/");
const { Anthropic } = require("@anthropic-ai/sdk");
const client = new Anthropic({ maxRetries: 0 });

const runnable = tools.map((tool) => ({
  ...tool,
  parse: (input) => input,
  run: (input) => answer(tool.name, input),
}));

let messages = [];
for (const prompt of process.argv.slice(2)) {
  messages.push({ role: "user", content: prompt });
  const runner = client.beta.messages.toolRunner({
    model: "claude-sonnet-4-6",
    max_tokens: 4000,
    tools: runnable,
    messages,
  });
  const last = await runner.runUntilDone();
  messages = [...runner.params.messages];
  if (messages.at(-1).role !== "assistant") {
    messages.push({ role: last.role, content: last.content });
  }
}
console.log(messages.length);
