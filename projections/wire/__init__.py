"""Facts about the Messages API's JSON: blocks, media, models, tool calls. No view and no store."""
