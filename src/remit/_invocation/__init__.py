"""The governed pipeline: phases that do not know each other, and the one list of their order."""
