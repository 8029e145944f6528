"""The bottom floor: values at the boundary, time, bounded memory, opaque ids, text and limits."""
