"""How remit's own elements look in a page; they take no class of the application's."""

from typing import Final

DECISIONS: Final = "/remit/confirmations"
"""Where the decision pages are, below the application's own path."""

CSS: Final = """
.remit-dialog { background: #fff; color: #1b1f24; border-radius: 6px; padding: 20px 24px 16px; width: min(640px, 92vw);
  max-width: none !important; max-height: 88vh; display: flex; flex-direction: column; gap: 8px;
  border: 1px solid #57606a; line-height: 1.45; font-size: 14px; pointer-events: auto; }
.remit-dialog h2 { font-size: 18px; line-height: 1.3; font-weight: 600; margin: 0; }
.remit-dialog h3 { font-size: 14px; line-height: 1.3; font-weight: 600; margin: 6px 0 0; }
.remit-dialog p { margin: 0; }
.remit-dialog .remit-text { display: inline; white-space: pre-wrap; overflow-wrap: anywhere; }
.remit-dialog code { font: 13px/1.45 ui-monospace, monospace; }
.remit-effect { font-weight: 600; }
.remit-grave { color: #a40e26; }
.remit-facts { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; margin: 0; }
.remit-facts dt { color: #57606a; }
.remit-facts dd { margin: 0; min-width: 0; }
.remit-fields { overflow: auto; min-height: 64px; border: 1px solid #8c959f; border-radius: 4px; flex: 0 1 auto; }
.remit-fields:focus-visible { outline: 2px solid #0550ae; outline-offset: 1px; }
.remit-fields table { width: 100%; border-collapse: collapse; }
.remit-fields th, .remit-fields td { text-align: left; vertical-align: top; padding: 4px 10px; font-weight: 400;
  border-bottom: 1px solid #d0d7de; }
.remit-fields tr:last-child > * { border-bottom: 0; }
.remit-fields th { background: #f6f8fa; min-width: 9em; }
.remit-fields th .remit-text { overflow-wrap: break-word; }
.remit-fields td:nth-child(2) { width: 100%; }
.remit-source { color: #57606a; }
.remit-source .remit-text { white-space: pre; }
.remit-end { display: inline-block; width: 1px; height: 1px; }
.remit-alert { color: #a40e26; font-weight: 600; }
.remit-left { color: #57606a; font-variant-numeric: tabular-nums; }
.remit-answers { display: flex; gap: 8px; align-items: center; justify-content: flex-end; flex-wrap: wrap; }
.remit-dialog .q-btn { color: #0550ae; font-weight: 500; }
.remit-dialog .remit-approve { background: #0550ae; color: #fff; }
.remit-dialog .remit-approve.remit-irreversible { background: #a40e26; }
.remit-dialog .q-btn:focus-visible { outline: 2px solid #1b1f24; outline-offset: 2px; }
.remit-waiting { position: fixed; left: 16px; bottom: 16px; z-index: 3000; background: #1b1f24; color: #fff;
  border-radius: 4px; padding: 6px 12px; font-size: 14px; box-shadow: 0 1px 4px rgb(0 0 0 / 35%); }
.remit-waiting a, .remit-waiting a:visited { color: #fff; text-decoration: underline; }
.remit-waiting a:focus-visible { outline: 2px solid #fff; outline-offset: 2px; }
@media (max-width: 480px) { .remit-facts { grid-template-columns: 1fr; } }
"""
