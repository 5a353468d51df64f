"""A provider that speaks SCIM, in the forms that Entra ID and Okta really send."""

from urllib.parse import quote

from webtest import TestApp

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
TYPE = "application/scim+json"


class Provider:
    def __init__(self, service, name="Entra ID"):
        self.made = service.ada.post_json("/api/scim-tokens", {"name": name}, status=201).json
        self.app = TestApp(service.app)
        self.headers = {"Authorization": "Bearer " + self.made["token"]}

    def ask(self, method, path, body=None, status=None):
        call = getattr(self.app, f"{method.lower()}_json" if body is not None else method.lower())
        more = {"params": body, "content_type": TYPE} if body is not None else {}
        answer = call("/scim/v2" + path, headers=self.headers, status=status or "*", **more)
        assert status or answer.status_int < 400, answer.text
        return answer.json if answer.body else None

    def get(self, path, status=None):
        return self.ask("GET", path, status=status)

    def user(self, user_name, status=201, **more):
        """As Entra ID makes one."""
        body = {"schemas": [USER], "userName": user_name, "active": True, **more}
        return self.ask("POST", "/Users", body, status)

    def group(self, name, *member_ids, status=201, **more):
        body = {
            "schemas": [GROUP],
            "displayName": name,
            "members": [{"value": member_id} for member_id in member_ids],
            **more,
        }
        return self.ask("POST", "/Groups", body, status)

    def patch(self, path, *operations, status=None):
        return self.ask("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)}, status)

    def found(self, kind, condition):
        return self.get(f"/{kind}?filter={quote(condition)}")["Resources"]

    def fill(self):
        """One of each."""
        person = self.user("person.of.a.provider", externalId="a", displayName="A person")
        self.group("Group of a provider", person["id"])
