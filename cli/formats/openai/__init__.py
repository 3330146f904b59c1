"""OpenAI's two forms of a request: ``openai`` for Responses, ``openai-chat`` for Chat Completions.

responses  a body for ``client.responses.create(model=…, **body)``
chat       a body for ``client.chat.completions.create(model=…, **body)``
"""
