"""A mail server that keeps nothing: Debian's aiosmtpd. The first line it prints is its port, each further one a mail."""

import asyncio
import hashlib
import hmac
import json
import ssl
import sys
from base64 import b64decode, b64encode

from aiosmtpd.smtp import SMTP, AuthResult

options = json.loads(sys.argv[1])
seen_before = set()


def login(_server, _session, _envelope, mechanism, data):
    print(json.dumps({"mechanism": mechanism}), file=sys.stderr, flush=True)
    good = data.login == b"me" and data.password == options["password"].encode()
    return AuthResult(success=good, handled=False)


class Handler:
    async def auth_CRAM__MD5(self, server, _args):
        challenge = b"<1@sink>"
        answer = await server.challenge_auth(challenge)
        user, _, digest = answer.partition(b" ")
        wanted = hmac.new(options["password"].encode(), challenge, hashlib.md5).hexdigest().encode()
        return AuthResult(success=user == b"me" and digest == wanted, handled=False)

    async def auth_XOAUTH2(self, server, args):
        wanted = f"user=me\x01auth=Bearer {options['password']}\x01\x01".encode()
        return AuthResult(success=len(args) > 1 and b64decode(args[1]) == wanted, handled=False)

    async def handle_RCPT(self, _server, _session, envelope, address, _options):
        if address.startswith("refused"):
            return f"550 5.1.1 no such user, your password is {options.get('password', '')}"
        if address.startswith("grey") and address not in seen_before:
            seen_before.add(address)
            return "451 4.7.1 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        mail = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "helo": session.host_name,
            "tls": server.transport.get_extra_info("ssl_object") is not None,
            "user": session.auth_data.login.decode() if getattr(session.auth_data, "login", None) else "",
            "raw": envelope.original_content.decode(),
        }
        print(json.dumps(mail), flush=True)
        return "250 2.0.0 queued as 42"


def context():
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(options["cert"], options["key"])
    return made


async def main():
    starttls = context() if options.get("starttls") else None

    def session():
        return SMTP(
            Handler(),
            hostname="sink",
            tls_context=starttls,
            authenticator=login,
            # A relay offers no login on a plain connection.
            auth_require_tls=bool(options.get("relay")),
            auth_required=bool(options.get("login")),
        )

    implicit = context() if options.get("implicit") else None
    server = await asyncio.get_running_loop().create_server(session, "127.0.0.1", 0, ssl=implicit)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
