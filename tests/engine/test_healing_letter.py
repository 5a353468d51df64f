"""The morning letter: what it tells of a night, to whom it goes, that a day has one, and what its head proves."""

import pytest

from opsapp.healing.engine import letters
from opsapp.healing.logic.lift import Arm, Bets, Trials
from opsapp.healing.logic.problems import ProblemFacts
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.ledger import LedgerEntry
from opsapp.healing.resources.trials import Healed
from opsapp.healing.stages.case import About, PlanningCase
from opsapp.notify.engine import routes
from opsapp.notify.engine.workers import sender_of
from opsapp.notify.resources import deliveries_of
from opsapp.runtime.cluster import leases
from opsapp.web.config import WebSettings
from tests.engine.healing import QUICK
from tests.engine.test_healing_anchor import put_back, snapshot
from tests.support.projections import failing_load

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
LETTER, SETTINGS, VERIFY = "/api/healing/letter", "/api/healing/letter/settings", "/api/healing/ledger/verify"
HOUR = 3600


class Mornings:
    """A ward whose letter goes to a receiver at 07:00. The clock stands at 08:00 as it begins."""

    def __init__(self, here, receiver):
        self.here, self.receiver, self.service, self.node = here, receiver, here.service, here.node
        channel = {"name": "team", "url": receiver.url(), "severities": ["critical"]}
        self.channel = self.service.ada.post_json("/api/notifications/channels", channel, status=201).json["id"]
        self.node.leases.want("notify")
        self.node.leases.step()
        self.put(at="07:00", channel=self.channel)

    def put(self, status=200, **settings):
        self.service.tokens.clear()
        return self.service.ada.put_json(SETTINGS, settings, status=status).json

    def heal(self):
        self.here.report(**FAILED).turn().turn(5)
        self.here.heal(**ACTIVE)
        return self

    def until(self, hour, day=1):
        """Time goes on to this hour of that day, in steps of at most an hour, as the supervisor looks."""
        end = 2_683_612_800 - 8 * HOUR + day * 86400 + hour * HOUR
        while self.here.clock.now() < end:
            self.here.clock.advance(min(HOUR, end - self.here.clock.now()))
            self.look()
        return self

    def look(self):
        self.node.leases.step()
        letters.step(self.node)
        while routes.step(self.node) or sender_of(self.node).step():
            pass

    @property
    def sent(self):
        return [message for message in self.receiver.messages if message["kind"] == "heal.letter"]

    def shown(self):
        self.service.tokens.clear()
        return self.service.vera.get(LETTER).json


@pytest.fixture
def mornings(ward, receiver):
    here = ward({**QUICK, "initial_level": "execute"}).at("execute")
    return Mornings(here, receiver)


def test_a_night_with_a_heal_is_told_in_the_morning_to_the_channel_alone(mornings):
    other = {"name": "other", "url": mornings.receiver.url("other")}
    mornings.service.ada.post_json("/api/notifications/channels", other, status=201)
    mornings.service.configure(WebSettings, base_url="https://ops.example.org")
    mornings.heal().until(6)
    assert mornings.sent == []
    mornings.until(7)
    [letter] = mornings.sent
    assert letter["title"] == "Morning letter: 1 healed"
    assert letter["severity"] == "info"
    assert "- box-1/nginx: restart service (rule nginx)" in letter["text"]
    assert "What that saved is not known yet." in letter["text"]
    assert letter["links"] == {"page": "https://ops.example.org/healing/letter"}
    assert letter["ids"]["day"] == "2055-01-16"
    assert letter["text"].endswith(f"Signed head of the ledger: {letter['ids']['head']}")
    last = mornings.shown()["last"]
    assert (last["healed"], last["sent"], last["title"]) == (1, True, letter["title"])


def test_nothing_is_sent_when_there_was_nothing(mornings):
    mornings.until(9, day=3)
    assert mornings.sent == []
    assert mornings.shown()["last"] is None


def test_a_letter_tells_of_what_came_since_the_one_before(mornings):
    mornings.heal().until(8)
    mornings.until(20).heal().until(9, day=2)
    assert [letter["title"] for letter in mornings.sent] == ["Morning letter: 1 healed"] * 2
    mornings.until(9, day=3)
    assert len(mornings.sent) == 2


def test_a_letter_of_a_bad_night_reads_so_many_entries_and_says_how_many_more_there_are(mornings):
    about = About("alert", "cpu_percent > 90", "box-1")
    case = PlanningCase(id="", about=about, rule_id="nginx", events={}, abouts={}, opened_at=0.0)

    def night(root):
        now = mornings.here.clock.now()
        for _ in range(60):
            healing_of(root)["ledger"].end(
                root, case, rule_id="nginx", outcome="suppressed", reason="paused", now=now, events=1
            )

    def read(root):
        with failing_load(root, 0, Exception()) as loaded:
            letter = letters.written(root, mornings.here.clock.now(), 10)
        return letter, [entry for entry in loaded if isinstance(entry, LedgerEntry)]

    mornings.service.transact(night)
    letter, loaded = mornings.service.transact(read)
    assert (letter.held_back, "50 " in letter.text) == (10, True)
    assert len(loaded) <= 10 + 7  # and a search for where the night begins


def test_without_a_letter_before_it_is_about_a_day(ward):
    here = ward({**QUICK, "initial_level": "execute"}).at("execute")
    for hours, healed in ((0, 0), (20, 1), (3, 1), (2, 0)):
        here.clock.advance(hours * HOUR)
        here.service.tokens.clear()
        assert here.service.vera.get(LETTER).json["next"]["healed"] == healed
        if not hours:
            here.report(**FAILED).turn().turn(5).heal(**ACTIVE)


def test_a_restart_at_the_hour_sends_none_twice_and_skips_none(mornings):
    mornings.heal().until(6)
    mornings.here.restart()
    mornings.here.clock.advance(3 * HOUR)  # nobody looked at seven
    mornings.look()
    assert len(mornings.sent) == 1
    mornings.here.restart()
    mornings.look()
    mornings.until(23)
    assert len(mornings.sent) == 1


def test_a_letter_that_is_committed_outlives_the_process_that_wrote_it(mornings):
    mornings.heal().until(6)
    mornings.here.clock.advance(HOUR)
    letters.step(mornings.node)  # and dies before it leaves
    assert mornings.sent == []
    mornings.here.restart()
    mornings.look()
    assert len(mornings.sent) == 1


@pytest.mark.parametrize("by", [-5 * HOUR, 5 * HOUR])
def test_a_clock_that_is_set_sends_one_letter_a_day(mornings, by):
    mornings.heal().until(4)
    mornings.here.clock.set_by(by)
    mornings.node.clock_steps.step()
    mornings.until(10)
    assert len(mornings.sent) == 1
    mornings.here.clock.set_by(-4 * HOUR)
    mornings.node.clock_steps.step()
    mornings.until(10)
    assert len(mornings.sent) == 1


def test_only_the_node_with_the_lease_sends(mornings):
    mornings.heal().until(6)
    mornings.here.clock.advance(HOUR)
    now = mornings.here.clock.now()
    mornings.node.transact(leases.release, mornings.node.owner)
    mornings.node.leases.held.clear()
    with pytest.raises(Exception, match="healing"):
        mornings.node.transact(letters.send, now)
    assert mornings.node.transact(lambda root: len(deliveries_of(root).keys())) == 0


def test_a_second_sender_of_the_same_day_sends_nothing(mornings):
    mornings.heal().until(6)
    mornings.here.clock.advance(HOUR)
    for _ in range(2):
        mornings.node.transact(letters.send, mornings.here.clock.now())
    mornings.look()
    assert len(mornings.sent) == 1


def test_what_was_saved_has_the_range_of_the_rules_own_trials(mornings):
    def know(root):
        healing = healing_of(root)
        state = healing["trust"]["nginx"]
        durations = healing.trials.durations_of("nginx", state.trust.definition)
        for _ in range(9):
            durations.lasted(1300.0, True)
        durations.took(Healed(110, 100))
        trials = Trials(Arm(50, 45), Arm(50, 15), Bets(last=(3,) * 45 + (2,) * 5 + (1,) * 15 + (0,) * 35))
        state.become(root, state.trust.tried(trials), cause="test", now=mornings.here.clock.now())

    mornings.node.transact(know)
    mornings.heal().until(7)
    last = mornings.shown()["last"]
    # nine that were left alone lasted 1,300 s, a heal takes 100 s or less, and 60 of 100 more recover with it
    assert last["saved_minutes"] == pytest.approx(0.6 * (1300 - 60) / 60, abs=1)
    assert 8 < last["saved_low"] < last["saved_minutes"] < last["saved_high"] < 16
    assert "That saved about 12 minutes of outage (between " in last["text"]


def test_what_is_held_back_says_why_and_open_requests_ask(mornings):
    mornings.here.service.ada.post_json("/api/healing/pause", {})
    mornings.here.report(**FAILED).turn().turn(5)
    mornings.here.report(**ACTIVE).turn(1)

    def due(root):
        now = mornings.here.clock.now()
        healing_of(root)["problems"].open(ProblemFacts("nginx", "box-1/nginx", now, due=now + 20 * HOUR))

    mornings.node.transact(due)
    mornings.until(7)
    [letter] = mornings.sent
    assert letter["title"] == "Morning letter: 1 held back, 1 asks for you"
    assert "- box-1/nginx: healing is paused (rule nginx)" in letter["text"]
    assert "- Problem due 2055-01-16 04:00 UTC: box-1/nginx is healed again and again (rule nginx)" in letter["text"]


def test_an_approval_that_waits_asks_until_it_expires(ward, receiver):
    mornings = Mornings(ward(QUICK, trial={"share": 0}).at("approve"), receiver)
    mornings.until(6)
    mornings.here.report(**FAILED).turn().turn(5)
    mornings.until(7)
    [letter] = mornings.sent
    assert letter["title"] == "Morning letter: 1 asks for you"
    assert "- Approve or reject: heal of box-1/nginx, until 2055-01-16" in letter["text"]


def test_what_is_left_alone_is_told_as_that(held, receiver):
    mornings = Mornings(held("execute"), receiver)
    here = mornings.here
    here.report(**FAILED).turn().turn(5).pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    mornings.until(7)
    [letter] = mornings.sent
    assert letter["title"] == "Morning letter: 1 left alone to learn"
    assert "- box-1/nginx: recovered without a heal (rule nginx)" in letter["text"]


def test_a_channel_that_is_gone_is_said_and_the_letter_is_kept(mornings, caplog):
    mornings.heal()
    mornings.service.ada.delete(f"/api/notifications/channels/{mornings.channel}")
    mornings.until(7)
    assert mornings.sent == []
    assert "the morning letter went nowhere" in caplog.text
    last = mornings.shown()["last"]
    assert (last["healed"], last["sent"]) == (1, False)
    assert mornings.service.ada.get(SETTINGS).json["lacking"] == "the channel is gone: choose another one"


def test_the_settings_are_checked_and_said(mornings):
    shown = mornings.put(zone="Europe/Berlin")
    assert (shown["status"], shown["next_at"], shown["lacking"]) == ("updated", 2_683_612_800 + 22 * HOUR, None)
    for wrong in ({"at": "25:00"}, {"zone": "Mars/Base"}, {"channel": "nobody"}):
        assert set(mornings.put(422, **wrong)["fields"]) == set(wrong)
    assert mornings.put(channel=None)["next_at"] is None
    mornings.heal().until(9, day=2)
    assert mornings.sent == []


def test_an_hour_of_today_that_is_over_comes_tomorrow_first(mornings):
    mornings.heal()
    mornings.put(at="06:00")
    mornings.look()
    assert mornings.sent == []
    mornings.until(6)
    assert len(mornings.sent) == 1


def test_the_letter_is_written_as_code_with_the_channels_name(mornings):
    exported = mornings.service.ada.get("/api/export").json
    [letter] = exported["letter"]
    assert letter == {"at": "07:00", "zone": None, "channel": "team", "letter": "healing"}
    changed = {"letter": [{**letter, "at": "08:30"}]}
    mornings.service.ada.post_json("/api/apply", {"document": changed})
    settings = mornings.service.ada.get(SETTINGS).json
    assert (settings["at"], settings["channel"]) == ("08:30", mornings.channel)
    wrong = {"letter": [{**letter, "channel": "nobody"}]}
    assert "nobody" in mornings.service.ada.post_json("/api/apply", {"document": wrong}, status=422).text


# -- the head in an old letter -----------------------------------------------------------------------------------------


def kept_head(mornings):
    mornings.heal().until(7)
    return mornings.sent[0]["ids"]["head"]


def verify(mornings, head, status=200):
    mornings.service.tokens.clear()
    return mornings.service.vera.get(VERIFY, {"head": head}, status=status).json


def test_the_head_of_an_old_letter_is_a_part_of_todays_chain(mornings):
    head = kept_head(mornings)
    mornings.heal()
    found = verify(mornings, head)
    assert (found["valid"], found["head"]) == (True, "kept")


@pytest.mark.attack
def test_a_chain_that_was_put_back_behind_a_letter_is_found(mornings):
    old = mornings.node.transact(snapshot)
    head = kept_head(mornings)
    assert verify(mornings, head)["head"] == "kept"
    mornings.node.transact(put_back, *old)
    found = verify(mornings, head)
    assert (found["valid"], found["head"]) == (False, "contradicted")


@pytest.mark.attack
def test_a_head_that_nobody_signed_says_nothing_of_the_ledger(mornings):
    links, _, signature = kept_head(mornings).split(".")
    made_up = f"{links}.{'0' * 64}.{signature}"
    assert verify(mornings, made_up) == {**verify(mornings, made_up), "valid": True, "head": "not_signed"}
    ended = mornings.node.transact(lambda root: healing_of(root)["ledger"].ended)
    assert signature != ended, "with that whoever has the letter could cut the chain off there"


@pytest.mark.parametrize("wrong", ["", "12", "1.2.3", f"x.{'0' * 64}.", f"1.{'g' * 64}.", f"-1.{'0' * 64}."])
def test_what_is_no_head_is_refused(mornings, wrong):
    assert "head" in verify(mornings, wrong, 422)["fields"]


def test_of_links_that_were_folded_away_nobody_knows(mornings):
    head = kept_head(mornings)

    def fold(root):
        ledger = healing_of(root)["ledger"]
        ledger.folded = ledger.folded._replace(links=ledger.links() + 5)

    mornings.node.transact(fold)
    from opsapp.healing.logic.chain import read_head
    from opsapp.healing.resources import ledgercheck

    ask = lambda root: ledgercheck.head_verdict(healing_of(root)["ledger"], b"", read_head(head))  # noqa: E731
    assert mornings.node.transact(ask) == "unknown"
