// usage: node pi_ctx.mjs ROOT(scope dir) file > out.json
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const [root, file] = process.argv.slice(2);
const load = (p) => import(pathToFileURL(`${root}/${p}`));
const sm = await load("pi-coding-agent/dist/core/session-manager.js");
const msgs = await load("pi-coding-agent/dist/core/messages.js");
let tm;
for (const p of ["pi-ai/dist/api/transform-messages.js", "pi-ai/dist/providers/transform-messages.js"]) { try { tm = await load(p); break; } catch (e) { } }
const entries = sm.parseSessionEntries(readFileSync(file, "utf8"));
sm.migrateSessionEntries(entries);
const out = [];
entries.forEach((e, n) => { e.__n = n; if (e.message) e.message.__n = n; });
for (let i = 1; i < entries.length; i++) {
  const prefix = entries.slice(1, i + 1);
  const leaf = entries[i].id;
  const ctx = sm.buildSessionContext(prefix, leaf);
  const llm = msgs.convertToLlm(ctx.messages);
  const last = [...llm].reverse().find((m) => m.role === "assistant") ?? { provider: "p", api: "a", model: "m" };
  const sent = tm.transformMessages(llm.filter(m => m.role !== "system"), { provider: last.provider, api: last.api, id: last.model, input: ["text", "image"] });
  out.push({ entry: i, messages: sent.map((m) => {
    if (m.__n !== undefined && JSON.stringify(m.content) === JSON.stringify(entries[m.__n].message.content)) return m.__n;
    const { timestamp, usage, __n, ...rest } = m; return rest;
  }) });
}
console.log(JSON.stringify(out, (k, v) => (k === "__n" ? undefined : v)));
