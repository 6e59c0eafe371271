"""The model of the memory and its stores. Knows neither Kafka nor HTTP."""

__version__ = "0.1.0"
