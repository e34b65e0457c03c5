"""What looks like a secret is replaced whatever stands around it, and nothing else is."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mimohist.redact import redact, redacted_value

UP = "ABCDEFGHIJKLMNOP"
MIX = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIX[:27]}"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAKC/+=\n-----END RSA PRIVATE KEY-----"

# Made up here, and put together so that no scanner of repositories takes them for real ones.
SECRETS = [
    ("aws-key", f"AKIA{UP}", "{}"),
    ("aws-key", f"ASIA{UP}", "id={} next"),
    ("github-token", "ghp_" + MIX[:36], "remote: {}."),
    ("github-token", "gho_" + MIX[:36], "{}"),
    ("github-token", "github_pat_" + MIX[:22], "git clone with '{}'"),
    ("gitlab-token", "glpat-" + MIX[:20], "({})"),
    ("slack-token", "xoxb-" + "123456789012-" + MIX[:24], "{}"),
    ("google-key", "AIza" + MIX[:35], '"{}"'),
    ("api-key", "sk-" + MIX, "using {} now"),
    ("api-key", "sk-ant-api03-" + MIX, "{}"),
    ("api-key", "sk-proj-" + MIX, "连接{}失败"),
    ("stripe-key", "sk_" + "live_" + MIX[:24], "{}"),
    ("npm-token", "npm_" + MIX[:36], "//registry.npmjs.org/:x={}"),
    ("huggingface-token", "hf_" + MIX[:34], "{}"),
    ("pypi-token", "pypi-" + MIX + MIX, "{}"),
    ("jwt", JWT, "cookie {};"),
    ("private-key", PEM, "cat id_rsa\n{}\n$"),
    ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "{}"),
    ("authorization", MIX[:30], "Authorization: Bearer {}"),
    ("authorization", "dXNlcjpwYXNzd29yZA==", "curl -H 'Authorization: Basic {}' x"),
    ("authorization", MIX[:30], "sent bearer {} to it"),
    ("password", "s3cr3t", "postgres://shop:{}@db:5432/shop"),
    ("password", "p@ss", "redis://:{}@cache/0"),
    ("password", MIX[:30], "https://{}@git.example.org/x.git"),
    ("secret", "abc123def456", "export API_KEY={}"),
    ("secret", "correcthorse", "password={}"),
    ("secret", "correcthorse", "password: {}"),
    ("secret", "correcthorse", "DB_PASSWORD='{}'"),
    ("secret", "hunter2hunter2", 'const dbPassword = "{}"'),
    ("secret", "abc123def456", '{{"client_secret": "{}"}}'),
    ("secret", "abc123def456", '{{\\"access_token\\":\\"{}\\"}}'),
    ("secret", "abc123def456", "x-api-key: {}"),
    ("secret", "abcdefghijkl", "AWS_SECRET_ACCESS_KEY={}"),
    ("secret", "abc123def456", "deploy --token {} --now"),
    ("secret", "correcthorse", "deploy --admin-password={}"),
    ("secret", "abc123def456", "refreshToken => '{}'"),
]

HARMLESS = [
    "the token bucket refills",
    "token = self.lexer.next()",
    "token = tokens[index]",
    "token: AccessToken;",
    "password: string",
    "password: Optional[str] = None",
    "def login(user, password):",
    "secret = getpass.getpass()",
    "API_KEY=$API_KEY",
    "API_KEY=${API_KEY}",
    "API_KEY=<your key>",
    "api_key: your-key-here",
    "password=********",
    "max_tokens: 128000",
    "tokens_input: 123456",
    "tokenizer = AutoTokenizer",
    "task-force-of-a-thousand-people-in-total",
    ".sk-folding-cube-and-all-its-children",
    "https://example.org/a:b/c@2x.png",
    "ssh://git@github.com/x/y.git",
    "http://localhost:8080/@scope/package",
    "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567",
    "AKIA is a prefix",
    "the eyJ in eyJ.eyJ.eyJ",
    "-----BEGIN PUBLIC KEY-----",
    "Authorization: Bearer $TOKEN",
    "密码：连接池",
    "passwords are hashed with bcrypt: see docs",
    'the "password" field',
]


@pytest.mark.parametrize(("kind", "secret", "around"), SECRETS)
def test_secrets_are_replaced(kind: str, secret: str, around: str) -> None:
    """The secret is gone whole, its kind is said, and what stands around it stays."""
    assert redact(around.format(secret)) == around.format(f"[redacted:{kind}]")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(("kind", "secret", "around"), SECRETS)
def test_redacting_twice_changes_nothing(kind: str, secret: str, around: str) -> None:
    del kind
    once = redact(around.format(secret))
    assert redact(once) == once


@given(st.text(alphabet="abz09 -_.:/@='\"\n密", max_size=200))
def test_a_key_is_found_in_any_text(text: str) -> None:
    """Whatever is said around a key, no part of it remains."""
    key = f"AKIA{UP}"
    assert UP not in redact(f"{text} {key} {text}")


def test_json_values_are_known_by_their_keys() -> None:
    """A secret without a shape is told by the key that it stands under, at any depth."""
    given_value = {
        "env": [{"DB_PASSWORD": "correcthorse", "token": 5, "tokens": {"input": 123456}}],
        "headers": {"Authorization": "Basic dXNlcg==", "accept": "text/plain"},
        "text": f"AKIA{UP}",
        "id": "prt_123456789",
        "n": None,
    }
    assert redacted_value(given_value) == {
        "env": [{"DB_PASSWORD": "[redacted:secret]", "token": 5, "tokens": {"input": 123456}}],
        "headers": {"Authorization": "[redacted:authorization]", "accept": "text/plain"},
        "text": "[redacted:aws-key]",
        "id": "prt_123456789",
        "n": None,
    }


BEGINNINGS = [
    "eyJaaaaaaaa-",
    "eyJaaaaaaaa.eyJaaaaaaaa.",
    "sk-",
    "sk-a",
    "xoxb-a_",
    "glpat-",
    "github_pat_",
    "-----BEGIN A",
    "-----BEGIN RSA PRIVATE KEY-----",
    "a_",
    "a-password",
    "password",
    "password=",
    "token : ",
    "authorization: ",
    "bearer ",
    "a://",
    "a:",
    "://a",
    "--a-",
    "a@",
    " ",
    "a",
    "A",
]


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_time_is_linear(beginning: str) -> None:
    """Half a megabyte that almost matches everywhere is done; quadratic would take minutes."""

    def stop(*_: object) -> None:
        raise AssertionError("it takes more than linear time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        redact(beginning * (500_000 // len(beginning)))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
