"""Which addresses are sent as such: what JavaScript itself reads them as is the second source (SPEC 10.7)."""

import json
import subprocess

import pytest

from remit.procedures.orpc.addresses import is_address
from tests.conftest import missing
from tests.orpc.backend import node

SENT = {
    "https://h.test/": "h.test",
    "HTTPS://h.test": "h.test",
    "http://h.test:65535/a?b#c": "h.test:65535",
    "https://user:pw@h.test/": "h.test",
    "https://h.test/a b": "h.test",
    "https://1.2.3.4/": "1.2.3.4",
    "http://[::1]:8080/": "[::1]:8080",
    "https://größe.test/": "xn--gre-6ka8i.test",
    "https://a_b.test./": "a_b.test.",
    "ws://h.test": "h.test",
    "ftp://h.test/": "h.test",
    "file:///a": "",
    "file://h.test/a": "h.test",
    "mailto:a@b": "",
    "urn:a:b": "",
    "foo://h.test/a": "h.test",
    "foo:///a": "",
}
"""Each with the host that it means."""

REFUSED_BY_BOTH = [
    "",
    "no-scheme",
    "/a",
    "//h.test/a",
    "https://",
    "http://",
    "wss://",
    "https://user@",
    "https://:80",
    "https://?a",
    "https://#a",
    "https://a b/",
    "https://a%20b/",
    "https://h.test:99999/",
    "https://h.test:port",
    "https://256.1.1.1/",
    "https://1.2.3.4.5/",
    "https://a.1/",
    "https://[::1",
    "https://[zz]/",
    "https://xn--/",
    "https://h<a/",
    "https://h^a/",
    "https://h|a/",
    "foo://a b/",
    "foo://h.test:99999",
]

READ_AS_ANOTHER = [
    "https:///a",
    "https:a",
    "https:/a",
    "https:\\\\h.test",
    "https://h.test/a\\b",
    "https://h.test\\@elsewhere.test",
    "https://ex%41mple/",
    "https://1.2.3/",
    "https://127.1",
    "https://1/",
    "https://0x7f.1/",
    "https://0x/",
    "https://a\u00adb/",
    "https://\uff48.test/",
    " https://h.test/",
    "https://h.test/ ",
    "https://h.te\tst/",
    "https://h.test/\n",
    "file:a",
    "file:/a",
    "file://",
]
"""JavaScript makes a host or a path of each that does not stand there so, without a word."""

_READ = """
const texts = JSON.parse(require("fs").readFileSync(0));
const read = (text) => { try { const url = new URL(text); return [url.href, url.host]; } catch { return null; } };
console.log(JSON.stringify(texts.map(read)));
"""


def read_by_javascript(texts: list[str]) -> list[list[str] | None]:
    if (program := node()) is None:
        missing("no Node")
    ran = subprocess.run(
        [str(program), "-e", _READ], input=json.dumps(texts), check=True, capture_output=True, text=True
    )
    found: list[list[str] | None] = json.loads(ran.stdout)
    return found


@pytest.mark.requirement("10.7-whole-addresses")
def test_what_is_sent_as_an_address_has_the_host_that_it_seems_to_have() -> None:
    assert [text for text in SENT if not is_address(text)] == []
    read = read_by_javascript(list(SENT))
    assert [None if each is None else each[1] for each in read] == list(SENT.values())


@pytest.mark.requirement("10.7-whole-addresses")
def test_what_javascript_does_not_read_is_not_sent() -> None:
    assert [text for text in REFUSED_BY_BOTH if is_address(text)] == []
    assert read_by_javascript(REFUSED_BY_BOTH) == [None] * len(REFUSED_BY_BOTH)


@pytest.mark.requirement("10.7-whole-addresses")
def test_what_javascript_makes_another_address_of_is_not_sent() -> None:
    assert [text for text in READ_AS_ANOTHER if is_address(text)] == []
    read = read_by_javascript(READ_AS_ANOTHER)
    assert [text for text, each in zip(READ_AS_ANOTHER, read, strict=True) if each is None or each[0] == text] == []
