"""A message that can be answered, as each service with buttons gets it: by Apprise, over a real socket."""

import pytest

from opsapp.notify.engine.courier import has_buttons, plugin_of
from opsapp.notify.logic.adapting import Journey
from opsapp.notify.logic.buttons import Buttons
from opsapp.notify.logic.texts import AnswerButton

PAGE = "https://ops.example.org/approvals/4f2a"
ANSWERS = (
    AnswerButton("approve", "Approve", "https://ops.example.org/answer/approve.1.2"),
    AnswerButton("reject", "Reject", "https://ops.example.org/answer/reject.1.2"),
)
TEXT = "\n".join(("Disk <full> & hot", *(answer.line for answer in ANSWERS), PAGE))
BUTTONS = Buttons("[warning] Approve?", TEXT, ANSWERS)
WORDS = f"Disk <full> & hot\n{PAGE}"
LABELS = [("Approve", ANSWERS[0].url), ("Reject", ANSWERS[1].url)]
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"


def sent(url, receiver, monkeypatch):
    """(path, body, headers) of what the service would get, whatever its host is."""
    import requests

    def redirected(plain):
        def call(*about, **more):
            *method, address = about
            path = address.partition("://")[2].partition("/")[2]
            return plain(*method, f"http://127.0.0.1:{receiver.port}/{path}", **more)

        return call

    for name in ("request", "post"):
        monkeypatch.setattr(requests, name, redirected(getattr(requests, name)))
    plugin = plugin_of(url, journey=Journey("warning", PAGE, {}, BUTTONS))
    text = BUTTONS.words if has_buttons(url, BUTTONS) else TEXT
    assert plugin.notify(body=text, title=BUTTONS.title, body_format="text")
    return receiver.paths[-1], receiver.messages[-1], receiver.headers


def test_slack_gets_blocks(receiver, monkeypatch):
    path, body, _ = sent(SLACK, receiver, monkeypatch)
    assert path == "/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
    assert body.keys() == {"text", "blocks"}
    header, section, actions = body["blocks"]
    assert (header["type"], header["text"]["text"]) == ("header", BUTTONS.title)
    assert section["text"] == {"type": "plain_text", "text": f"Disk &lt;full&gt; &amp; hot\n{PAGE}"}
    assert [(button["text"]["text"], button["url"]) for button in actions["elements"]] == LABELS


def test_slack_gets_no_text_that_is_too_long(receiver, monkeypatch):
    monkeypatch.setattr(f"{__name__}.BUTTONS", Buttons("<" * 200, "&" * 4000, ANSWERS))
    _, body, _ = sent(SLACK, receiver, monkeypatch)
    header, section, _ = body["blocks"]
    assert (len(header["text"]["text"]), len(section["text"]["text"])) == (150, 3000)


@pytest.mark.parametrize(
    ("chat", "chat_id"), [("12315544", "12315544"), ("-100123", "-100123"), ("ops_room", "@ops_room")]
)
def test_telegram_gets_an_inline_keyboard(receiver, monkeypatch, chat, chat_id):
    path, body, _ = sent(f"tgram://123456789:alphanumeric_token-1/{chat}", receiver, monkeypatch)
    assert path == "/bot123456789:alphanumeric_token-1/sendMessage"
    assert (body["chat_id"], body["text"]) == (chat_id, f"{BUTTONS.title}\n{WORDS}")
    assert [(key["text"], key["url"]) for key in body["reply_markup"]["inline_keyboard"][0]] == LABELS
    assert body.keys() == {"chat_id", "text", "disable_web_page_preview", "reply_markup"}


def test_ntfy_gets_buttons_that_open_a_page(receiver, monkeypatch):
    _, body, headers = sent("ntfy://ntfy.example.org/ops", receiver, monkeypatch)
    assert headers["X-Actions"] == f"view, Approve, {ANSWERS[0].url}; view, Reject, {ANSWERS[1].url}"
    assert (headers["X-Click"], headers["X-Priority"]) == (PAGE, "high")
    assert body["message"] == WORDS


def test_teams_gets_a_card_with_actions(receiver, monkeypatch):
    path, body, _ = sent("workflows://flows.example.org:443/643b3c2f/abcdefsig", receiver, monkeypatch)
    assert path.startswith("/workflows/643b3c2f/triggers/manual/paths/invoke?")
    card = body["attachments"][0]["content"]
    assert body["type"] == "message"
    assert [(action["type"], action["title"], action["url"]) for action in card["actions"]] == [
        ("Action.OpenUrl", *label) for label in LABELS]  # fmt: skip
    assert "/answer/" not in str(card["body"])


def test_telegram_gets_no_button_that_it_would_refuse():
    near = tuple(answer._replace(url=answer.url.replace("ops.example.org", "localhost")) for answer in ANSWERS)
    assert not has_buttons("tgram://123456789:abc/1", BUTTONS._replace(answers=near))


@pytest.mark.parametrize(
    "url",
    [
        "slack://xoxb-1234-1234-4ddbc191d40ee098cbaae6f3523ada2d/#ops",
        f"{SLACK}/#ops",
        "tgram://123456789:abc/1/2",
        "tgram://123456789:abc/1:7",
        "ntfy://ntfy.example.org/ops?actions=view,Mine,https://example.org",
        "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js",
        "json://127.0.0.1/x",
    ],
)
def test_what_has_no_buttons_has_the_links_in_its_text(url):
    assert not has_buttons(url, BUTTONS)
