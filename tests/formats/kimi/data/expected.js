// What Kimi Code's own state (2.1.0) holds after each line of a log. Put in place of "main();" in its bundle.
{
  init_contextOps(); init_fork(); init_toolResultRender();
  const lines = fs.readFileSync(process.env.WIRE, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l));
  const folds = new Map([...expandedStateFolds(contextMemoryKey)].map(([cls, fold]) => [cls.type, fold]));
  const none = { checkpoint() {}, clearCheckpoints() {}, undoToCheckpoint() {} };
  const out = [];
  let before = "";
  for (let n = 1; n <= lines.length; n++) {
    let state = [];
    for (const record of flattenChain(lines.slice(0, n))) {
      const next = folds.get(record.type)?.(state, record, none);
      if (next !== undefined) state = next;
    }
    const messages = state.map((m) => ({
      role: m.role,
      content: m.role === "tool"
        ? renderToolResultForModel({ output: m.content, isError: m.isError, note: m.note, durationMs: m.durationMs })
        : m.content,
      ...(m.toolCalls?.length ? { toolCalls: m.toolCalls } : {}),
      ...(m.toolCallId ? { toolCallId: m.toolCallId } : {}),
      ...(m.isError ? { isError: true } : {}),
    }));
    const text = JSON.stringify(messages);
    if (text !== before) out.push({ line: n, messages });
    before = text;
  }
  process.stdout.write(JSON.stringify(out) + "\n");
  process.exit(0);
}
