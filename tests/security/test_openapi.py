"""The OpenAPI document against the service itself: what is asked by it, and against it, is answered by it."""

import pytest
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import checks
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi import checks as openapi_checks

from tests.security.faces import bearer
from tests.security.hostile import tries
from tests.security.served import Served

pytestmark = [pytest.mark.stack, pytest.mark.timeout(0)]

#: Asked in every answer: no error of ours, and status, type and shape as the document says.
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
    openapi_checks.negative_data_rejection,
]
#: Answers need a model, and without one are 501.
LEFT_OUT = "/v1/answer"


@pytest.fixture(scope="module")
def operations(service: Served) -> list[schemathesis.APIOperation]:
    with service.client() as client:
        document = client.get("/openapi.json").json()
    # Every call below carries the key, so a case whose only fault is that it carries none would be no fault when sent.
    for item in document["paths"].values():
        for operation in item.values():
            operation.pop("security", None)
    found = [result.ok() for result in schemathesis.openapi.from_dict(document).get_all_operations()]
    return [operation for operation in found if operation.path != LEFT_OUT]


def test_every_operation_of_v1_says_that_it_needs_a_credential(service: Served) -> None:
    with service.client() as client:
        document = client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]
    for path, item in document["paths"].items():
        for operation in item.values():
            assert bool(operation.get("security")) == path.startswith("/v1/"), path


@pytest.mark.parametrize("mode", list(GenerationMode))
@tries(80)
@given(data=st.data())
def test_answers_are_what_the_document_says(
    service: Served, operations: list[schemathesis.APIOperation], mode: GenerationMode, data: st.DataObject
) -> None:
    able = operations if mode is GenerationMode.POSITIVE else [one for one in operations if one.path[:4] == "/v1/"]
    operation = data.draw(st.sampled_from(able), label="operation")
    case = data.draw(operation.as_strategy(generation_mode=mode), label="case")
    response = case.call(base_url=service.url, headers=bearer(service.ours.key), timeout=60)
    try:
        case.validate_response(response, checks=CHECKS, headers=bearer(service.ours.key))
    except (FailureGroup, Failure) as failure:
        pytest.fail(f"{failure}")
    assert service.theirs.secret not in response.text
