"""The demonstration of the device console: a scripted agent works the page, and every step is checked elsewhere.

`python -m examples.devices.demo`, from the folder that holds `examples`, is the command behind `scripts/demo`.
"""
