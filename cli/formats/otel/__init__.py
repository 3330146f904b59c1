"""OpenTelemetry: what happened as spans, by the semantic conventions for generative AI.

spans      events → spans: the agent, each reply of a model, each call of a tool
messages   content in the form of the conventions, where it is asked for
exporting  spans → OTLP, as JSON or to a collector, by OpenTelemetry's own packages
"""
