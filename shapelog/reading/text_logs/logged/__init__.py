"""What a text log has of each compile, from its messages: its code, reasons, guards, graphs, graph breaks and failures."""
