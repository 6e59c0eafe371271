"""Ordinary telemetry of agents is not destroyed: ids, versions, times, hashes, order numbers."""

from pathlib import Path

import orjson
import pytest

from tests.redaction.events import settings_for, taken

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EVERYTHING = settings_for("mask")

ORDINARY = (
    "2026-11-30 19:01:08.123456 UTC took 1234567890 ns; id 6d61676d-6100-5000-8000-6d656d6f7279",
    "order 4512345678, ticket 20261130-0042, v1.2.3.4567, 10.0.0.1, 192.168.100.200:8080, 1732993268, 1732993268123",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 commit 2c407f2 took 0.4123456789012345",
    "git@github.com:org/repo.git react@18.2.0 user@host @app.get('/x') image:tag@sha256:deadbeef",
    "max_tokens=512 tokens: 1234 next_page_token=abcdef key: inc-094 password: required",
    "The secret is out; Secret: nobody told me. The password is wrong. token budget is 1200",
    "bearer of bad news; authorization: declined; api_key=os.environ['X'] password=${PW} PWD=/srv/app",
    "POST /v1/orders/20261130 200 12ms 1024 2048 4096 8192; range 100-200-3000; 1,234,567.89; ratio 12/345/678",
    "lat 52.520008 lon 13.404954; 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "ISBN 978-3-16-148410-0 EAN 4006381333931 IMEI 352099001761481 tracking 1Z999AA10123456784",
    "partition 3 offset 4155552671 pid 415 555; retry in 30 60 120 240 seconds; 2026/11/30 12 30; at 2026.11.30.1234",
    "+0200 +1234 lines, -120/+345678; 20:15:30+01:00; UTC+05:30; rows 1000000-2000000; error 0x7f12; ports 5432-5433",
    "call 12 of 200; called 1234567 times; phone number is unknown; text 3 lines; the cell B12 of sheet 4",
    "https://ci.example/builds/123456789?page=2&sort=desc https://host:8443/a@b s3://bucket/2026/11/30/part-00001.parquet",
    "model gpt-4o-2024-08-06, claude-3-5-sonnet-20241022, sk-learn, req_011CSHoEeqs5C35K2UUqR7Fy, toolu_01A09q90",
    "snowflake 1765432109876543210, ULID 01ARZ3NDEKTSV4RRFFQ69G5FAV, 64f1c2a9b3d4e5f601234567, pod web-7d4b9c6f5-x2x4z",
    "SELECT * FROM orders WHERE id = 1234567 AND total > 1500.00 LIMIT 100 OFFSET 2000; 3 rows (12.345 ms)",
    "KeyError: 'customer_id' at line 4112; exit code 137; HTTP/1.1 429; Retry-After: 120; CPU 93.5 %, 16384 MiB",
    "Am 3. März 2026 um 14:30 Uhr: 1.234.567,89 EUR an Rechnung 2026-000123, Konto DE89 3704 0044 0532 0130 00",
    "会议在2026年5月8日15时56分，订单号123456。Встреча перенесена на 14:30, заказ №20260508.",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert taken(EVERYTHING, text=text)["text"] == text


def test_ordinary_attributes_stay_as_they_are() -> None:
    attributes = {
        "tool_call_id": "call_8hWgQe7zVfJt3sXn2cYb1mKd",
        "usage": {"prompt_tokens": 1024, "completion_tokens": 4096, "total": 5120, "cached": True, "cost": 0.00123},
        "span": {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736", "start_unix_nano": 1732993268123456789},
        "page_token": "abc", "key": "orders/2026", "author": "ana", "tokens": "12", "hex": "0x7ffee4c0", "none": None,
        "retry": [1, 2, 4, 8], "version": "2.14.0", "secret_name": "export-bucket", "monkey": "see",
        "pwd": "/srv/app", "token": " the",
    }  # fmt: skip
    assert taken(EVERYTHING, attributes=attributes)["attributes"] == attributes


def test_the_examples_lose_their_mail_addresses_and_what_they_call_a_secret_and_nothing_else() -> None:
    marks = []
    for name in ("conversation.jsonl", "incident.jsonl"):
        for line in (EXAMPLES / name).read_bytes().splitlines():
            before, after = (taken(policy, **orjson.loads(line)) for policy in (settings_for("off"), EVERYTHING))
            if before != after:
                assert before | {"attributes": None} == after | {"attributes": None}
                marks.append(after["attributes"]["arguments"])
    assert marks == [{"secret": "[secret]"}, {"to": ["[mail]", "[mail]"]}]
