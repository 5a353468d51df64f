"""Signing in with a real slapd: who comes in, with which role, and what nobody may reach."""

import pyotp
import pytest
from webtest import TestApp

from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.engine import directory, directorycheck, directorystate
from opsapp.auth.engine.ldapclient import DirectorySilent, Visit
from opsapp.auth.ldapconfig import GroupMap, LdapSettings
from opsapp.auth.resources import users_of
from opsapp.lib.problems import Unauthenticated
from tests.support.app import PASSWORD as LOCAL_PASSWORD
from tests.support.certificates import Authority
from tests.support.directory import BASE, GROUPS, PASSWORD, PEOPLE, SERVICE_PASSWORD, Slapd, asked_at, dn_of
from tests.support.process import free_port

pytestmark = pytest.mark.system


@pytest.fixture
def service(directory_service):
    return directory_service


def sign_in(service, username, password=PASSWORD, status=200):
    body = {"username": username, "password": password}
    return service.anonymous.post_json("/api/login", body, status=status).json


def client_of(service, username, password=PASSWORD):
    client = TestApp(service.app)
    client.authorization = ("Bearer", sign_in(service, username, password)["token"])
    return client


def refusals(service):
    """What the audit record says of sign-ins, newest first."""
    entries = service.ada.get("/api/audit?action=login").json
    return [(entry["target"], entry["reason"]) for entry in entries if entry["result"] == "refused"]


def test_a_person_of_the_directory_signs_in_and_has_the_role_of_the_group(service):
    assert {name: sign_in(service, name)["role"] for name in ("grace", "otis", "vic")} == {
        "grace": "admin",
        "otis": "operator",
        "vic": "viewer",
    }
    shown = service.ada.get("/api/users/otis").json
    assert (shown["source"], shown["role"], shown["disabled"]) == ("ldap", "operator", False)
    assert client_of(service, "GRACE").get("/api/me").json == {"username": "grace", "role": "admin"}
    made = [entry["target"] for entry in service.ada.get("/api/audit?action=user.create").json]
    assert made.count("grace") == made.count("otis") == made.count("vic") == 1


def test_the_form_signs_in_too(service):
    browser = TestApp(service.app)
    form = browser.get("/login").form
    form["username"], form["password"] = "vic", PASSWORD
    assert form.submit(status=303).headers["Location"] == "/"
    assert browser.get("/api/me").json["username"] == "vic"


@pytest.mark.parametrize("way", ["ldaps", "start_tls", "plain"])
def test_each_way_to_connect(service, slapd, way):
    said = {"ldaps": {}, "start_tls": {"start_tls": True}, "plain": {"allow_plain": True}}[way]
    service.configure(LdapSettings, uri=slapd.tls if way == "ldaps" else slapd.plain, **said)
    assert sign_in(service, "vic")["role"] == "viewer"


@pytest.mark.attack
@pytest.mark.parametrize("wrong", ["authority", "name", "unencrypted", "start_tls"])
def test_no_password_goes_where_the_certificate_is_not_right(service, slapd, wrong, tmp_path):
    said = {
        "authority": {"ca_file": Authority(tmp_path).ca_file},
        "name": {"uri": slapd.tls.replace("localhost", "127.0.0.1.nip.invalid")},
        "unencrypted": {"uri": slapd.plain},
        "start_tls": {"uri": slapd.plain, "start_tls": True, "ca_file": Authority(tmp_path).ca_file},
    }[wrong]
    service.configure(LdapSettings, **said)
    assert sign_in(service, "vic", status=503)["code"] == "directory_unreachable"


@pytest.mark.attack
def test_a_certificate_of_another_name_is_refused(service, tmp_path_factory):
    place = tmp_path_factory.mktemp("misnamed")
    authority = Authority(place)
    issue = authority.issue
    authority.issue = lambda label: issue(label, names=("ldap.example.org",))
    with Slapd(place / "slapd", authority) as misnamed:
        service.configure(LdapSettings, uri=misnamed.tls, ca_file=authority.ca_file)
        sign_in(service, "vic", status=503)
        assert "Hostname mismatch" in directorystate.state_of(service.node).trouble


@pytest.mark.attack
def test_one_answer_for_a_wrong_password_an_unknown_user_and_no_role(service):
    answers = [
        sign_in(service, "grace", "another password", 401),
        sign_in(service, "ghost", PASSWORD, 401),
        sign_in(service, "nobody", PASSWORD, 401),
    ]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["code"] == "bad_credentials"
    assert refusals(service)[:3] == [("nobody", "no_role"), ("ghost", "unknown_user"), ("grace", "bad_credentials")]
    assert service.read(lambda root: "nobody" in users_of(root)) is False


@pytest.mark.attack
def test_an_empty_password_is_never_tried(service, slapd):
    """This slapd takes it for no attempt, and says that all is well."""
    settings = service.node.config[LdapSettings]
    with Visit(settings, SERVICE_PASSWORD) as visit:
        (person,) = visit.people("grace")
        assert visit.is_password(person.dn, PASSWORD) is True
        assert visit.is_password(person.dn, "") is False
        assert visit.is_password("", PASSWORD) is False
    for password in ("", " "):
        with pytest.raises(Unauthenticated):
            directory.sign_in(service.node, "grace", password, directory.Client("127.0.0.1", "t"))
    body = {"username": "grace", "password": ""}
    service.anonymous.post_json("/api/login", body, status=422)
    with pytest.raises(DirectorySilent), Visit(settings, ""):
        pass


@pytest.mark.attack
@pytest.mark.parametrize("typed", ["*", "gr*", "grace)(uid=*", "*)(objectClass=*", "grace\\2a", "gr\0ace", "(grace)"])
def test_no_name_is_a_filter(service, typed):
    status = 422 if "\0" in typed else 401
    assert sign_in(service, typed, status=status)["code"] == ("invalid" if status == 422 else "bad_credentials")


@pytest.mark.attack
def test_two_entries_of_one_name_let_nobody_in(service):
    service.configure(LdapSettings, user_filter="(|(uid={username})(uid=vic))")
    assert sign_in(service, "grace", status=401)["code"] == "bad_credentials"
    assert refusals(service)[0] == ("grace", "ambiguous_user")
    assert sign_in(service, "vic")["username"] == "vic"


@pytest.mark.attack
def test_a_local_name_is_never_taken_over(service, slapd):
    slapd.add("olaf", "staff")
    body = {"username": "olaf", "role": "operator", "password": LOCAL_PASSWORD}
    service.ada.post_json("/api/users", body, status=201)
    sign_in(service, "olaf", PASSWORD, 401)
    sign_in(service, "OLAF", PASSWORD, 401)
    assert sign_in(service, "olaf", LOCAL_PASSWORD)["role"] == "operator"
    service.configure(LdapSettings, user_filter="(mail={username})")
    assert sign_in(service, "olaf@example.org")["username"] == "olaf-2"
    assert sign_in(service, "olaf@example.org")["username"] == "olaf-2"
    assert service.ada.get("/api/users/olaf").json["source"] == "local"
    service.ada.put_json("/api/users/olaf", {"disabled": True})
    service.configure(LdapSettings, user_filter="(uid={username})")
    sign_in(service, "olaf", PASSWORD, 401)


def test_one_person_is_one_user_whatever_the_name(service, slapd):
    slapd.add("jean", "staff")
    assert sign_in(service, "jean")["username"] == "jean"
    slapd.tell(f"dn: {dn_of('jean')}\nchangetype: modrdn\nnewrdn: uid=jeanne\ndeleteoldrdn: 1\n", adds=False)
    slapd.leave("staff", dn_of("jean"))
    slapd.join("staff", dn_of("jeanne"))
    assert sign_in(service, "jeanne")["username"] == "jean"
    slapd.add("jean", "operators")
    assert sign_in(service, "jean") | {"token": ""} == {"token": "", "username": "jean-2", "role": "operator"}


@pytest.mark.attack
def test_an_entry_that_cannot_be_used_is_the_trouble_of_nobody_else(service, slapd):
    service.configure(LdapSettings, id_attribute="employeeNumber")
    assert sign_in(service, "vic", status=401)["code"] == "bad_credentials"
    assert refusals(service)[0] == ("vic", "no_id")
    slapd.change("vic", employeeNumber="7")
    assert sign_in(service, "vic")["username"] == "vic"
    assert directorycheck.directory_trouble(service.node) is None


def test_groups_are_searched_where_people_do_not_name_them(service, slapd):
    slapd.add("posy")
    slapd.tell(f"dn: cn=night,{GROUPS}\nobjectClass: posixGroup\ncn: night\ngidNumber: 7\nmemberUid: posy\n")
    service.configure(
        LdapSettings, member_of=None, group_base=GROUPS, role_map=GroupMap(viewer=(f"cn=night,{GROUPS}",))
    )
    assert sign_in(service, "posy")["role"] == "viewer"
    sign_in(service, "grace", status=401)
    service.configure(LdapSettings, role_map=GroupMap(admin=(f"cn=admins,{GROUPS}",)))
    assert sign_in(service, "grace")["role"] == "admin"


@pytest.mark.parametrize("searched", [False, True])
def test_groups_in_groups_count_where_that_is_said(service, slapd, searched):
    inner, outer = f"inner-{searched}", f"outer-{searched}"
    slapd.add(f"nina-{searched}".lower(), inner)
    slapd.join(outer, f"cn={inner},{GROUPS}")
    slapd.join(inner, f"cn={outer},{GROUPS}")  # a circle
    said = {"member_of": None, "group_base": GROUPS} if searched else {}
    service.configure(LdapSettings, role_map=GroupMap(viewer=(f"cn={outer},{GROUPS}",)), **said)
    name = f"nina-{searched}".lower()
    sign_in(service, name, status=401)
    service.configure(LdapSettings, nested_groups=True)
    assert sign_in(service, name)["role"] == "viewer"


def test_such_users_have_no_password_here(service):
    vic = client_of(service, "vic")
    answer = vic.put_json("/api/me/password", {"current": PASSWORD, "new": "a sound password"}, status=409).json
    assert (answer["code"], "directory" in answer["error"]) == ("not_local", True)
    assert (
        service.ada.put_json("/api/users/vic", {"password": "a sound password"}, status=409).json["code"] == "not_local"
    )


@pytest.mark.attack
def test_who_confirms_is_asked_by_the_directory_again(service, slapd):
    slapd.add("cora", "staff")
    cora = client_of(service, "cora")
    service.clock.advance(1000)
    key = {"name": "ci", "role": "viewer"}
    assert cora.post_json("/api/keys", key, status=403).json["code"] == "confirm"
    assert cora.post_json("/api/me/confirm", {"password": "wrong"}, status=422).json["code"] == "wrong_password"
    slapd.change("cora", userPassword="changed in the directory")
    cora.post_json("/api/me/confirm", {"password": PASSWORD}, status=422)
    cora.post_json("/api/me/confirm", {"password": "changed in the directory"})
    made = cora.post_json("/api/keys", key).json
    ends = cora.get("/api/keys").json[0]["expires_at"]
    assert ends == int(service.clock.now()) + 30 * 86400
    slapd.remove("cora")
    service.clock.advance(1000)
    cora.post_json("/api/me/confirm", {"password": "changed in the directory"}, status=422)
    assert made["key"]


def test_a_second_factor_works_on_top(service, slapd):
    slapd.add("fay", "operators")
    fay = client_of(service, "fay")
    secret = fay.post("/api/me/totp").json["secret"]
    code = pyotp.TOTP(secret).at(int(service.clock.now()))
    fay.post_json("/api/me/totp/confirm", {"code": code})
    first = sign_in(service, "fay")
    assert (first["totp_required"], "token" in first) == (True, False)
    service.clock.advance(60)
    body = {"partial_token": first["partial_token"], "code": pyotp.TOTP(secret).at(int(service.clock.now()))}
    assert service.anonymous.post_json("/api/login/totp", body).json["username"] == "fay"
    service.configure(LoginSettings, second_factor=("operator",))
    assert client_of(service, "otis").get("/api/monitoring/endpoints", status=403).json["code"] == "second_factor"
    fay.delete_json("/api/me/totp", {"password": "wrong"}, status=422)
    fay.delete_json("/api/me/totp", {"password": PASSWORD})


@pytest.mark.attack
def test_attempts_are_counted_as_with_local_passwords(service):
    service.configure(LoginSettings, attempts_per_ip=1000, attempts_per_user=3)
    for typed in ("vic", "VIC", "Vic"):
        sign_in(service, typed, "wrong", 401)
    assert sign_in(service, "vIc", PASSWORD, 429)["code"] == "too_many_attempts"
    assert refusals(service)[0] == ("vic", "too_many_attempts")
    service.configure(LoginSettings, attempts_per_ip=3, attempts_per_user=1000)
    statuses = [
        service.anonymous.post_json("/api/login", {"username": f"ghost{n}", "password": "wrong"}, status="*").status_int
        for n in range(5)
    ]
    assert statuses[-1] == 429


def test_a_role_that_changed_is_taken_at_the_next_sign_in(service, slapd):
    slapd.add("rosa", "staff")
    assert sign_in(service, "rosa")["role"] == "viewer"
    slapd.join("operators", dn_of("rosa"))
    rosa = client_of(service, "rosa")
    assert rosa.get("/api/me").json["role"] == "operator"
    key = rosa.post_json("/api/keys", {"name": "ci", "role": "viewer"}).json["key"]
    slapd.leave("operators", dn_of("rosa"))
    assert sign_in(service, "rosa")["role"] == "viewer"
    rosa.get("/api/me", status=401)
    service.anonymous.get("/api/me", headers={"Authorization": f"Bearer {key}"}, status=401)


@pytest.mark.attack
def test_a_lost_role_ends_all_and_comes_back_with_the_group(service, slapd):
    slapd.add("lena", "staff")
    lena = client_of(service, "lena")
    key = lena.post_json("/api/keys", {"name": "ci", "role": "viewer"}).json["key"]
    slapd.leave("staff", dn_of("lena"))
    assert sign_in(service, "lena", status=401)["code"] == "bad_credentials"
    lena.get("/api/me", status=401)
    service.anonymous.get("/api/me", headers={"Authorization": f"Bearer {key}"}, status=401)
    assert service.ada.get("/api/users/lena").json["disabled"] is True
    slapd.join("staff", dn_of("lena"))
    assert sign_in(service, "lena")["role"] == "viewer"
    service.ada.put_json("/api/users/lena", {"disabled": True})
    assert sign_in(service, "lena", status=401)["code"] == "bad_credentials"
    assert refusals(service)[0] == ("lena", "user_disabled")


@pytest.mark.attack
def test_who_is_gone_loses_all_without_signing_in(service, slapd):
    for name in ("gone", "fell", "stay"):
        slapd.add(name, "operators", "staff")
    gone, fell, stay = (client_of(service, name) for name in ("gone", "fell", "stay"))
    key = gone.post_json("/api/keys", {"name": "ci", "role": "viewer"}).json["key"]
    slapd.remove("gone")
    slapd.leave("operators", dn_of("fell"))
    directorycheck.check(service.node)
    gone.get("/api/me", status=401)
    fell.get("/api/me", status=401)
    service.anonymous.get("/api/me", headers={"Authorization": f"Bearer {key}"}, status=401)
    assert stay.get("/api/me").json["role"] == "operator"
    assert service.ada.get("/api/users/gone").json["disabled"] is True
    assert service.ada.get("/api/users/fell").json["role"] == "viewer"
    changed = service.ada.get("/api/audit?action=user.update").json
    assert {(entry["target"], entry["username"]) for entry in changed[:2]} == {("gone", None), ("fell", None)}
    directorycheck.check(service.node)
    assert service.ada.get("/api/audit?action=user.update").json == changed


@pytest.mark.attack
def test_who_is_disabled_in_the_directory_is_not_found_by_the_filter(service, slapd):
    slapd.add("dora", "staff")
    service.configure(LdapSettings, user_filter="(&(uid={username})(!(title=left)))")
    dora, vic = client_of(service, "dora"), client_of(service, "vic")
    slapd.change("dora", title="left")
    directorycheck.check(service.node)
    dora.get("/api/me", status=401)
    vic.get("/api/me")


@pytest.mark.parametrize("wrong", ["away", "base", "bind", "hidden", "groups"])
def test_an_error_of_the_directory_takes_nothing_from_anybody(service, slapd, wrong):
    vic, otis = client_of(service, "vic"), client_of(service, "otis")
    said = {
        "away": {"uri": f"ldap://127.0.0.1:{free_port()}", "allow_plain": True},
        "base": {"base": f"ou=nowhere,{BASE}"},
        "bind": {"bind_password": "changed"},
        "hidden": {"base": GROUPS},
        "groups": {"role_map": GroupMap(admin=(f"cn=renamed,{GROUPS}",))},
    }[wrong]
    service.configure(LdapSettings, **said)
    directorycheck.check(service.node)
    vic.get("/api/me")
    otis.get("/api/me")
    assert "directory" in directorycheck.directory_trouble(service.node)
    reasons = service.ada.get("/api/healing/health").json["reasons"]
    assert [reason for reason in reasons if reason.startswith("the directory ")]
    findings = service.ada.get("/api/doctor").json["findings"]
    assert [finding["level"] for finding in findings if finding["what"] == "directory"] == ["warn"]
    service.configure(LdapSettings, **asked_at(slapd))
    directorycheck.check(service.node)
    directorycheck.look(service.node)
    assert directorycheck.directory_trouble(service.node) is None


@pytest.mark.attack
def test_the_only_user_is_not_taken_for_gone_where_nobody_is_shown(service, slapd):
    slapd.add("solo", "staff")
    solo = client_of(service, "solo")
    service.configure(LdapSettings, base=GROUPS)
    directorycheck.check(service.node)
    solo.get("/api/me")
    service.configure(LdapSettings, base=PEOPLE)
    slapd.remove("solo")
    directorycheck.check(service.node)
    solo.get("/api/me", status=401)


def test_who_signs_in_while_the_check_asks_is_judged_by_the_sign_in(service, slapd, monkeypatch):
    slapd.add("mira", "staff")
    client_of(service, "mira")
    client_of(service, "vic")
    slapd.leave("staff", dn_of("mira"))
    late = []

    def survey(node, settings, page, survey=directorycheck._survey):
        verdicts = survey(node, settings, page)
        slapd.join("staff", dn_of("mira"))
        service.clock.advance(5)
        late.append(client_of(service, "mira"))
        return verdicts

    monkeypatch.setattr(directorycheck, "_survey", survey)
    directorycheck.check(service.node)
    assert late[0].get("/api/me").json["username"] == "mira"


@pytest.mark.attack
def test_the_last_admin_is_signed_out_and_stays_admin(service, slapd):
    slapd.add("ruler", "admins")
    ruler, vic = client_of(service, "ruler"), client_of(service, "vic")
    service.transact(lambda root: setattr(users_of(root)["admin"], "disabled", True))
    slapd.remove("ruler")
    directorycheck.check(service.node)
    ruler.get("/api/me", status=401)
    vic.get("/api/me")
    kept = service.read(lambda root: resources.shown(users_of(root)["ruler"]))
    assert (kept.role, kept.disabled) == ("admin", False)


def test_the_services_password_may_be_a_secret_of_the_service(service, slapd):
    service.configure(LdapSettings, bind_password="{{secret:DIRECTORY}}")
    assert sign_in(service, "vic", status=503)["code"] == "directory_unreachable"
    assert "names a secret" in directorycheck.directory_trouble(service.node)
    service.ada.post_json("/api/secrets", {"name": "DIRECTORY", "value": SERVICE_PASSWORD}, status=201)
    service.clock.advance(16)
    assert sign_in(service, "vic")["role"] == "viewer"
    told = str(service.ada.get("/api/settings").json)
    assert SERVICE_PASSWORD not in told
    assert "DIRECTORY" not in told


def test_without_the_section_nobody_is_asked(service):
    sign_in(service, "vic")
    service.configure(LdapSettings, enabled=False)
    assert sign_in(service, "vic", status=401)["code"] == "bad_credentials"
    assert directorycheck.look(service.node) is directorycheck.check(service.node) is False
    findings = {row["what"]: row["said"] for row in service.ada.get("/api/doctor").json["findings"]}
    assert findings["directory"] == "auth.ldap names none"


def test_a_directory_that_is_away_is_503_and_local_users_sign_in(service, slapd):
    service.configure(LdapSettings, uri=f"ldap://127.0.0.1:{free_port()}", allow_plain=True)
    answer = service.anonymous.post_json("/api/login", {"username": "vic", "password": PASSWORD}, status=503)
    assert (answer.json["code"], answer.headers["Retry-After"]) == ("directory_unreachable", "10")
    assert sign_in(service, "admin", "first admin password")["role"] == "admin"
    assert refusals(service)[0] == ("vic", "directory_unreachable")
    service.configure(LoginSettings, attempts_per_ip=1, attempts_per_user=1)
    for _ in range(5):  # known to be away: nothing is tried, so nothing is counted
        sign_in(service, "vic", status=503)
    service.clock.advance(100)
    service.configure(LdapSettings, **asked_at(slapd))
    sign_in(service, "vic")
