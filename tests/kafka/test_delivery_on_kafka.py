"""The delivery suite of `tests/streams`, the same functions, against real Apache Kafka."""

import pytest

from tests.streams.test_acknowledgement_order import *  # noqa: F403
from tests.streams.test_dead_letters import *  # noqa: F403
from tests.streams.test_delivery import *  # noqa: F403
from tests.streams.test_topics_and_publishing import *  # noqa: F403

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]
