"""A small OpenID provider in a process of its own, written from the specification and on `cryptography` alone.

`python -m tests.support.provider` prints its port. It signs everybody in at once. POST /control sets how it behaves:
`{"claims": {...}, "break": "nonce", "error": "access_denied", …}`; `break` names one thing that is wrong.
"""

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from tests.support.waiting import patience

ROOT = Path(__file__).resolve().parents[2]
CLIENT, SECRET = "opsapp", "a secret of this client"
HANGING = threading.Event()  # never set


def b64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def whole(number):
    return b64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


class Key:
    def __init__(self, kid):
        self.kid = kid
        self.private = rsa.generate_private_key(65537, 2048)

    @property
    def public(self):
        numbers = self.private.public_key().public_numbers()
        return {
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": self.kid,
            "n": whole(numbers.n),
            "e": whole(numbers.e),
        }

    def sign(self, text):
        return self.private.sign(text, padding.PKCS1v15(), hashes.SHA256())


class State:
    key, stranger = Key("one"), Key("two")
    how = {}
    codes = {}
    asked = []


def id_token(code, issuer):
    how, now = State.how, int(time.time())
    wrong = how.get("break")
    claims = {
        "iss": "http://127.0.0.1:1/other" if wrong == "issuer" else issuer,
        "sub": "subject-1",
        "aud": "another client" if wrong == "audience" else CLIENT,
        "exp": now - 3600 if wrong == "expired" else now + 300,
        "iat": now - 7200 if wrong == "expired" else now,
        "nonce": "another" if wrong == "nonce" else State.codes[code]["nonce"],
        **how.get("claims", {}),
    }
    if wrong in ("no nonce", "no sub"):
        del claims[wrong.split()[1]]
    if wrong == "azp":
        claims |= {"aud": [CLIENT, "other"], "azp": "other"}
    alg = {"alg none": "none", "alg HS256": "HS256", "alg HS256 public": "HS256"}.get(wrong, "RS256")
    header = {"alg": alg, "kid": "unknown" if wrong == "unknown key" else State.key.kid}
    if wrong == "no kid":
        del header["kid"]
    if wrong == "own key":
        header |= {"jwk": State.stranger.public, "kid": State.stranger.kid}
    text = (b64(json.dumps(header).encode()) + "." + b64(json.dumps(claims).encode())).encode()
    return text.decode() + "." + b64(signature(wrong, text))


def signature(wrong, text):
    if wrong == "alg none":
        return b""
    if wrong == "alg HS256":
        return hmac.new(SECRET.encode(), text, hashlib.sha256).digest()
    if wrong == "alg HS256 public":
        return hmac.new(json.dumps(State.key.public).encode(), text, hashlib.sha256).digest()
    if wrong in ("signature", "unknown key", "own key"):
        return State.stranger.sign(text)
    return State.key.sign(text)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    @property
    def issuer(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, value, status=200, **headers):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path == "/.well-known/openid-configuration":
            if State.how.get("break") == "description hangs":
                HANGING.wait()
            self.answer(self.description())
        elif parts.path == "/keys":
            self.answer({"keys": [State.key.public]})
        elif parts.path == "/authorize":
            self.authorize(query)
        elif parts.path == "/userinfo":
            well = self.headers.get("Authorization") == "Bearer opaque"
            self.answer({"sub": "subject-1", **State.how.get("userinfo", {})} if well else {}, 200 if well else 401)
        elif parts.path == "/asked":
            self.answer(State.asked)
        else:
            self.answer({}, 404)

    def description(self):
        wrong = State.how.get("break") == "described issuer"
        return {
            "issuer": "http://other.example" if wrong else self.issuer,
            "authorization_endpoint": self.issuer + "/authorize",
            "token_endpoint": self.issuer + "/token",
            "userinfo_endpoint": self.issuer + "/userinfo",
            "jwks_uri": self.issuer + "/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def authorize(self, query):
        State.asked.append(query)
        back = {"state": query["state"]}
        if State.how.get("error"):
            back["error"] = State.how["error"]
        else:
            code = b64(hashlib.sha256(json.dumps([query, len(State.codes)]).encode()).digest())
            State.codes[code] = query
            back["code"] = code
        self.answer(b"", 302, Location=query["redirect_uri"] + "?" + urllib.parse.urlencode(back))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/control":
            State.how = json.loads(raw)
            self.answer({})
        else:
            self.token(dict(urllib.parse.parse_qsl(raw.decode())))

    def token(self, form):
        wrong = State.how.get("break")
        if wrong == "token hangs":
            HANGING.wait()  # until the process ends
        if wrong == "token status":
            return self.answer({}, 500)
        if wrong == "token text":
            return self.answer(b"<html>no JSON</html>")
        asked = State.codes.get(form.get("code"))
        problem = self.problem_of(form, asked)
        if problem or wrong == "token error":
            return self.answer({"error": problem or "invalid_grant"}, 400)
        answer = {"access_token": "opaque", "token_type": "Bearer", "expires_in": 300}
        if wrong != "no id_token":
            answer["id_token"] = id_token(form["code"], self.issuer)
        State.codes.pop(form["code"])
        return self.answer(answer)

    def problem_of(self, form, asked):
        expected = (
            "Basic "
            + base64.b64encode(f"{urllib.parse.quote_plus(CLIENT)}:{urllib.parse.quote_plus(SECRET)}".encode()).decode()
        )
        if self.headers.get("Authorization") != expected:
            return "invalid_client"
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return "invalid_grant"
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        return None if challenge == asked["code_challenge"] else "invalid_grant"


class Provider:
    """The process, from the outside."""

    def __init__(self):
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.support.provider"], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        self.url = f"http://127.0.0.1:{int(self.child.stdout.readline())}"

    def behave(self, **how):
        request = urllib.request.Request(self.url + "/control", json.dumps(how).encode())
        urllib.request.urlopen(request, timeout=5).close()

    def asked(self):
        with urllib.request.urlopen(self.url + "/asked", timeout=5) as answer:
            return json.load(answer)

    def sign_in(self, address):
        """What a browser does at the provider: the address it is sent back to."""

        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        try:
            urllib.request.build_opener(Stay).open(address, timeout=5)
        except urllib.error.HTTPError as answer:
            answer.close()
            return answer.headers["Location"]
        raise AssertionError("the provider did not send the browser back")

    def stop(self):
        self.child.terminate()
        self.child.wait(10 * patience())
        self.child.stdout.close()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
