// The tools of the loops that are written here: they answer what a shell in the folder would.
import { readFileSync } from "node:fs";

const text = { type: "string" };
export const tools = [
  {
    name: "Bash",
    description: "Run a command.",
    input_schema: { type: "object", properties: { command: text }, required: ["command"] },
  },
  {
    name: "Read",
    description: "Read a file.",
    input_schema: { type: "object", properties: { file_path: text }, required: ["file_path"] },
  },
];

export function answer(name, input) {
  if (name === "Read") return readFileSync(input.file_path, "utf8");
  if (input.command.includes("exit")) throw new Error("Exit code 3\n你好");
  return "notes.txt\nfound";
}

export function run(call) {
  const result = { type: "tool_result", tool_use_id: call.id };
  try {
    return { ...result, content: answer(call.name, call.input) };
  } catch (error) {
    return { ...result, content: [{ type: "text", text: error.message }], is_error: true };
  }
}
