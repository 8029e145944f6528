"""The example of docs/guides/first-hour.md: an application that agents cannot reach yet."""

from nicegui import ui

DEVICES = [{"id": "d1", "city": "Milan"}, {"id": "d2", "city": "Turin"}]


@ui.page("/devices")
def devices() -> None:
    ui.table(rows=DEVICES, row_key="id", selection="multiple")


@ui.page("/reports")
def reports() -> None:
    ui.label("Nothing to report")


@ui.page("/")
def index() -> None:
    ui.link("Devices", devices)


if __name__ in {"__main__", "__mp_main__"}:
    ui.run(port=8080, show=False, storage_secret="change-me")
