"""The small languages inside payloads: guards, graphs, reasons, sources, expressions."""
