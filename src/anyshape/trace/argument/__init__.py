"""The arguments of a trace: their structure, their symbols, and what calls must bring."""
