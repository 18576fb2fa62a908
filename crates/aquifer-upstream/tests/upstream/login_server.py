"""An MCP server that wants a login, and the authorization server behind it, in one process. Python's own library and
nothing else. What it does wrong is set while it runs: POST /control takes options, GET /control tells what happened."""

import base64
import hashlib
import http.server
import json
import secrets
import sys
import threading
import time
import urllib.parse

options = {
    "lifetime": 3600,       # seconds that access tokens hold; null: not said
    "rotate": False,        # refresh tokens are good for one use
    "refresh": True,        # there are refresh tokens
    "deny": False,          # the person declines
    "forge": False,         # somebody comes to the client before the browser does
    "issuer": None,         # what the authorization server calls itself
    "pkce": ["S256"],
    "registration": True,
    "documents": False,     # clients may be described by documents
    "secret": False,        # clients get a secret and must show it
    "iss": "right",         # right, wrong or none in the answer; "promised": none, though the metadata says there is
    "describe": True,       # RFC 9728
    "metadata": True,       # RFC 8414; without it the endpoints are where 2025-03-26 has them by default
    "own_issuer": "",       # path of the issuer of a server that is its own authorization server
    "default_endpoints": True,  # whether those are there
    "forbidden": 403,       # the status of what a token does not allow
    "resource": None,       # what the description says it is about
    "servers": None,        # which authorization servers the description names
    "metadata_url": None,   # where the challenge says the description is
    "challenge_scope": "notes.read",
    "need_write": "notes.write",
    "repeat": False,        # repeat in errors what was sent
    "token_status": None,   # answer with this status instead of tokens
    "offline": False,
    "redirect": None,       # where /mcp sends everybody
    "huge": False,          # metadata without end
}
lock = threading.Lock()
journal = []                # what happened, one word or two each
shown = []                  # every secret that ever was on the wire
forms = []                  # what was sent to the token endpoint
registered = {}             # client id → what it said of itself
codes = {}
access = {}                 # token → {"until", "family", "scope", "resource"}
refresh = {}                # token → {"family", "scope", "resource", "client", "used"}
dead = set()                # families that were revoked
seen = []                   # Authorization headers at /mcp


def secret(kind):
    made = f"{kind}-{secrets.token_urlsafe(24)}"
    shown.append(made)
    return made


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def issuer(self):
        return options["issuer"] or f"{self.base}/as"

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, value=None, headers=()):
        text = b"" if value is None else value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, content in headers:
            self.send_header(name, content)
        if value is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/control":
            return self.answer(200, {"journal": journal, "shown": shown, "forms": forms, "registered": registered,
                                     "seen": seen})
        if path == "/.well-known/oauth-protected-resource/mcp" and options["describe"]:
            journal.append("described")
            if options["huge"]:
                return self.answer(200, b'{"resource": "' + b"x" * 2_000_000 + b'"}')
            return self.answer(200, {"resource": options["resource"] or f"{self.base}/mcp",
                                     "authorization_servers": options["servers"] or [f"{self.base}/as"],
                                     "scopes_supported": ["notes.read", "notes.write"]})
        legacy = not options["describe"] and path == "/.well-known/oauth-authorization-server"
        if options["metadata"] and (path == "/.well-known/oauth-authorization-server/as" or legacy):
            own = options["issuer"] or self.base + options["own_issuer"]
            return self.answer(200, self.metadata(own if legacy else self.issuer))
        if self.endpoint(path) == "/as/authorize":
            return self.authorize(dict(urllib.parse.parse_qsl(query)))
        self.answer(404, {})

    def endpoint(self, path):
        by_default = path in ("/authorize", "/token", "/register")
        if by_default and not options["metadata"] and options["default_endpoints"]:
            journal.append(f"default {path}")
            return "/as" + path
        return path

    def metadata(self, issuer):
        said = {"issuer": issuer, "authorization_endpoint": f"{self.base}/as/authorize",
                "token_endpoint": f"{self.base}/as/token", "revocation_endpoint": f"{self.base}/as/revoke",
                "response_types_supported": ["code"],
                "authorization_response_iss_parameter_supported": options["iss"] in ("right", "promised")}
        if options["pkce"] is not None:
            said["code_challenge_methods_supported"] = options["pkce"]
        if options["registration"]:
            said["registration_endpoint"] = f"{self.base}/as/register"
        if options["documents"]:
            said["client_id_metadata_document_supported"] = True
        said["token_endpoint_auth_methods_supported"] = [options["secret"] or "none"]
        if options["offline"]:
            said["scopes_supported"] = ["notes.read", "offline_access"]
        return said

    def authorize(self, asked):
        journal.append("authorize")
        redirect = asked.get("redirect_uri", "")
        client = registered.get(asked.get("client_id"), {})
        if redirect not in client.get("redirect_uris", [redirect]):
            return self.answer(400, {"error": "redirect_uri"})
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge") or not asked.get("resource"):
            return self.answer(400, {"error": "invalid_request"})
        answer = {"state": asked.get("state", "")}
        if options["iss"] == "right":
            answer["iss"] = self.issuer
        if options["iss"] == "wrong":
            answer["iss"] = "https://evil.example"
        if options["deny"]:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secret("code")
            codes[answer["code"]] = asked
        if options["forge"]:
            answer["state"] = "forged"
        shown.append(answer["state"])
        self.answer(302, headers=[("Location", redirect + "?" + urllib.parse.urlencode(answer))])

    def do_POST(self):
        path = self.endpoint(self.path.partition("?")[0])
        body = self.body()
        with lock:
            if path == "/control":
                return self.control(json.loads(body))
            if path == "/as/register" and options["registration"]:
                return self.register(json.loads(body))
            if path in ("/as/token", "/as/revoke"):
                form = dict(urllib.parse.parse_qsl(body.decode()))
                shown.extend(form[name] for name in ("code_verifier", "client_secret") if name in form)
                return self.token(form) if path == "/as/token" else self.revoke(form)
        if path == "/mcp":
            return self.mcp(body)
        self.answer(404, {})

    def control(self, wanted):
        if wanted.pop("revoke_all", False):
            dead.update(token["family"] for token in access.values())
        if wanted.pop("expire_all", False):
            for token in access.values():
                token["until"] = 0
        options.update(wanted)
        self.answer(200, {})

    def register(self, about):
        journal.append("register")
        name = f"client-{len(registered) + 1}"
        registered[name] = dict(about)
        made = {"client_id": name, **about}
        if options["secret"]:
            made["client_secret"] = registered[name]["client_secret"] = secret("cs")
            made["token_endpoint_auth_method"] = options["secret"]
        self.answer(201, made)

    def refuse(self, error, form):
        words = "no" if not options["repeat"] else "no: " + json.dumps(form) + str(self.headers.get("Authorization"))
        self.answer(400, {"error": error, "error_description": words})

    def token(self, form):
        forms.append(form)
        if options["token_status"]:
            return self.answer(options["token_status"], {"error": "temporarily_unavailable"})
        if options["secret"]:
            wanted = registered.get(form.get("client_id"), {}).get("client_secret") or options.get("known_secret")
            given = form.get("client_secret")
            if options["secret"] == "client_secret_basic":
                basic = self.headers.get("Authorization", "").removeprefix("Basic ")
                shown.append(basic)
                given = urllib.parse.unquote_plus(base64.b64decode(basic).decode().partition(":")[2])
            if not wanted or given != wanted:
                return self.refuse("invalid_client", form)
        if form.get("grant_type") == "authorization_code":
            journal.append("code")
            asked = codes.pop(form.get("code"), None)
            proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
            if (not asked or asked["code_challenge"] != proof.decode().rstrip("=")
                    or asked["redirect_uri"] != form.get("redirect_uri") or asked["resource"] != form.get("resource")
                    or asked["client_id"] != form.get("client_id")):
                return self.refuse("invalid_grant", form)
            about = {"family": secrets.token_hex(4), "scope": asked.get("scope", ""), "resource": form["resource"],
                     "client": form["client_id"]}
            return self.grant(about)
        journal.append("refresh")
        known = refresh.get(form.get("refresh_token"))
        if known and known["used"] and options["rotate"]:
            journal.append("reused")
            dead.add(known["family"])
        if not known or known["family"] in dead or known["client"] != form.get("client_id"):
            return self.refuse("invalid_grant", form)
        known["used"] = True
        self.grant({name: known[name] for name in ("family", "scope", "resource", "client")},
                   None if options["rotate"] else form["refresh_token"])

    def grant(self, about, same=None):
        token = secret("at")
        lifetime = options["lifetime"]
        access[token] = {**about, "until": time.monotonic() + (1e9 if lifetime is None else lifetime)}
        given = {"access_token": token, "token_type": "Bearer", "scope": about["scope"]}
        if lifetime is not None:
            given["expires_in"] = lifetime
        if options["refresh"] and not same:
            given["refresh_token"] = secret("rt")
            refresh[given["refresh_token"]] = {**about, "used": False}
        self.answer(200, given)

    def revoke(self, form):
        journal.append("revoke")
        known = refresh.get(form.get("token")) or access.get(form.get("token"))
        if known:
            dead.add(known["family"])
        self.answer(200, {})

    def mcp(self, body):
        header = self.headers.get("Authorization")
        seen.append(header)
        called = json.loads(body or b"{}").get("params", {}).get("name") if b"tools/call" in body else None
        if called:
            journal.append(f"received {called}")
        if options["redirect"]:
            return self.answer(307, headers=[("Location", options["redirect"])])
        known = access.get((header or "").removeprefix("Bearer "))
        fits = known and known["family"] not in dead and known["until"] > time.monotonic()
        if not fits or known["resource"] != (options["resource"] or f"{self.base}/mcp"):
            demand = f'Bearer realm="notes", error="invalid_token", scope="{options["challenge_scope"]}"'
            if options["describe"] and options["metadata_url"] != "":
                place = options["metadata_url"] or f"{self.base}/.well-known/oauth-protected-resource/mcp"
                demand += f', resource_metadata="{place}"'
            return self.answer(401, {"error": "unauthorized"}, [("WWW-Authenticate", demand)])
        message = json.loads(body)
        method, mark = message.get("method"), message.get("id")
        if mark is None:
            return self.answer(202)
        result = {}
        if method == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                      "serverInfo": {"name": "notes", "version": "1"}}
        elif method == "tools/list":
            schema = {"type": "object"}
            result = {"tools": [
                {"name": "read_note", "description": "Reads.", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
                {"name": "write_note", "description": "Writes.", "inputSchema": schema},
                {"name": "repeat_token", "description": "Fails.", "inputSchema": schema}]}
        elif method == "tools/call":
            name = message["params"]["name"]
            journal.append(name)
            if name == "write_note" and options["need_write"] not in known["scope"].split():
                demand = f'Bearer error="insufficient_scope", scope="{options["need_write"]}"'
                return self.answer(options["forbidden"], {}, [("WWW-Authenticate", demand)])
            if name == "repeat_token":
                result = {"content": [{"type": "text", "text": f"what is {header}"}], "isError": True}
            else:
                result = {"content": [{"type": "text", "text": json.dumps({"note": name})}]}
        self.answer(200, {"jsonrpc": "2.0", "id": mark, "result": result})


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
