"""Handing letters to the mail server, a batch over one connection, in a native thread. What a subscriber typed can only
be the recipient: envelope and headers are made from parts. Must not: decide when."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterable
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate

from opsapp.notify.engine import networks_denied
from opsapp.statuspages.logic.mailserver import MailServer, mail_server

from .letter import PageLetter, PageSender, Posted


def post(sender: PageSender, letters: list[PageLetter], now: float) -> list[Posted]:
    """Blocks. Where the server goes away, it was not the turn of all that are left."""
    with networks_denied(sender.denied):
        try:
            connection = _open(mail_server(sender.server), sender.timeout)
        except (OSError, smtplib.SMTPException) as wrong:
            return [Posted(letter.row, _said(wrong), tried=False) for letter in letters]
        try:
            return list(_each(connection, sender, letters, now))
        finally:
            connection.close()


def _open(server: MailServer, timeout: float) -> smtplib.SMTP:
    if server.scheme == "smtps":
        context = ssl.create_default_context()  # it reads all certificates of the system: only where they are used
        connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=timeout, context=context)
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=timeout)
    if server.scheme == "smtp+starttls":
        connection.starttls(context=ssl.create_default_context())
    if server.user:
        connection.login(server.user, server.password)
    return connection


def _each(connection: smtplib.SMTP, sender: PageSender, letters: list[PageLetter], now: float) -> Iterable[Posted]:
    lost: str | None = None
    for letter in letters:
        if lost is not None:
            yield Posted(letter.row, lost, tried=False)
            continue
        try:
            connection.send_message(written(sender, letter, now), sender.mail_from, [letter.to])
            yield Posted(letter.row)
        except smtplib.SMTPRecipientsRefused as refused:
            code, message = next(iter(refused.recipients.values()))
            yield Posted(letter.row, f"{code} {message.decode('utf-8', 'replace')}", final=code >= 500)
        except (OSError, smtplib.SMTPException) as wrong:
            lost = _said(wrong)
            yield Posted(letter.row, lost)


def written(sender: PageSender, letter: PageLetter, now: float) -> EmailMessage:
    """The mail. Its id is the row's: a reader's program drops one that comes twice."""
    mail, host = EmailMessage(), sender.mail_from.rpartition("@")[2]
    mail["From"] = Address(letter.page, addr_spec=sender.mail_from)
    mail["To"] = Address(addr_spec=letter.to)
    mail["Subject"] = letter.words.subject
    mail["Date"] = formatdate(now, usegmt=True)
    mail["Message-ID"] = f"<{letter.row.replace('/', '.')}@{host}>"
    mail["Auto-Submitted"] = "auto-generated"
    text = letter.words.text
    if letter.leave:
        mail["List-Unsubscribe"] = f"<{letter.leave}>"
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        text += f"\n\n--\nNo more of these: {letter.leave}"
    mail.set_content(text + "\n")
    return mail


def _said(wrong: Exception) -> str:
    return f"{type(wrong).__name__}: {wrong}"[:300]
